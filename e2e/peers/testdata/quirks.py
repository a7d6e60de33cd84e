"""An MCP server that is slow, fails and asks back on demand.

What its tools do is written to the file QUIRKS_JOURNAL, a line each, so that a
test sees what was really executed, and what was not.
"""

import asyncio
import os
import time
from typing import Annotated

from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from pydantic import BaseModel, Field

mcp = FastMCP("quirks", dereference_schemas=os.environ.get("QUIRKS_REFS") != "keep")

READ_ONLY = {"readOnlyHint": True}


def journal(line: str) -> None:
    with open(os.environ["QUIRKS_JOURNAL"], "a") as f:
        f.write(line + "\n")


@mcp.tool(annotations=READ_ONLY)
def echo(text: str) -> str:
    """Say it again."""
    return text


@mcp.tool
async def slow(name: str, seconds: float) -> str:
    """Wait without holding a thread."""
    journal(f"{name} started")
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        journal(f"{name} cancelled")
        raise
    journal(f"{name} finished")
    return f"{name} is done"


@mcp.tool
def busy(name: str, seconds: float) -> str:
    """Wait in a thread, as most tools do."""
    journal(f"{name} started")
    time.sleep(seconds)
    journal(f"{name} finished")
    return f"{name} is done"


@mcp.tool
def crash(secret: str) -> str:
    """Fail with an exception that nobody foresaw."""
    raise RuntimeError(f"cannot open /home/somebody/notes.db for {secret}")


@mcp.tool
def refuse() -> str:
    """Fail with a message for the caller."""
    raise ToolError("the cupboard is empty")


@mcp.tool
def environment() -> list[str]:
    """The names of the variables in the environment."""
    return sorted(os.environ)


class Address(BaseModel):
    street: str
    zip: Annotated[str, Field(pattern=r"^\d{5}$")]


class Item(BaseModel):
    name: str
    amount: Annotated[int, Field(gt=0)] = 1


class Order(BaseModel):
    """What is ordered, and where it goes."""

    items: Annotated[list[Item], Field(min_length=1)]
    ship_to: Address
    bill_to: Address | None = None


class Receipt(BaseModel):
    pieces: int
    total: float
    zip: str


class Part(BaseModel):
    name: str
    parts: list["Part"] = []


@mcp.tool
def order(order: Order) -> Receipt:
    """Order items."""
    pieces = sum(item.amount for item in order.items)
    return Receipt(pieces=pieces, total=pieces * 0.1, zip=order.ship_to.zip)


@mcp.tool
def weigh(part: Part) -> int:
    """Count a part and all parts in it."""
    return 1 + sum(weigh(p) for p in part.parts)


@mcp.tool
def nothing() -> None:
    """Return nothing."""


@mcp.tool
async def report(steps: int, ctx: Context) -> str:
    """Tell of the progress, and log, before the answer."""
    for i in range(steps):
        await ctx.report_progress(i, steps)
        await ctx.info(f"step {i}")
    return "reported"


class Name(BaseModel):
    name: str


@mcp.tool
async def ask(ctx: Context) -> str:
    """Ask the user back."""
    answer = await ctx.elicit("What is your name?", Name)
    return str(answer)


if __name__ == "__main__":
    journal(f"pid {os.getpid()}")
    mcp.run()
