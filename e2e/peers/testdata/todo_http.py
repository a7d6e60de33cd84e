"""The example todo server over every kind of HTTP at once.

Each has a path of its own, so that one process and one database do for all:
/<kind>/mcp, and /legacy/sse. The first argument is the folder of server.py.
"""

import contextlib
import os
import sys

import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount

sys.path.insert(0, sys.argv[1])

from server import mcp  # noqa: E402

KINDS = {
    "stateful-sse": mcp.http_app(),
    "stateful-json": mcp.http_app(json_response=True),
    "stateless-sse": mcp.http_app(stateless_http=True),
    "stateless-json": mcp.http_app(stateless_http=True, json_response=True),
    "legacy": mcp.http_app(transport="sse"),
}


@contextlib.asynccontextmanager
async def lifespan(_):
    async with contextlib.AsyncExitStack() as stack:
        for kind in KINDS.values():
            await stack.enter_async_context(kind.lifespan(kind))
        yield


if __name__ == "__main__":
    app = Starlette(routes=[Mount(f"/{name}", app=kind) for name, kind in KINDS.items()], lifespan=lifespan)
    uvicorn.run(app, host=os.environ["FASTMCP_HOST"], port=int(os.environ["FASTMCP_PORT"]), timeout_graceful_shutdown=1)
