"""Asks the gateway through LangChain: a stream with a tool that this program runs, and an object."""

import os
import sys

from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel


class Summary(BaseModel):
    """What is left to do."""

    open: int
    next: str


@tool
def battery_level() -> str:
    """Returns the charge of this device's battery."""
    return "80 percent"


def ask(model: ChatOpenAI, question: str) -> str:
    """Runs turns until one ends with an answer, and returns it."""
    messages = [HumanMessage(question)]
    while True:
        message = None
        for chunk in model.bind_tools([battery_level]).stream(messages):
            print(chunk.content, end="", flush=True)
            message = chunk if message is None else message + chunk
        if not message.tool_calls:
            print()
            return message.content
        messages += [message] + [battery_level.invoke(call) for call in message.tool_calls]


if __name__ == "__main__":
    gateway = os.environ.get("SLUICE_URL", "http://127.0.0.1:8080")
    question = sys.argv[1] if len(sys.argv) > 1 else "what is on my list?"
    model = ChatOpenAI(model="sluice", base_url=gateway + "/v1", api_key="none")
    ask(model, question)
    print(repr(model.with_structured_output(Summary).invoke(question)))
