"""Asks the gateway through OpenAI's SDK for Python: a stream, and a tool that this program runs.

    python3 -m pip install -r examples/openai/requirements.txt
    python3 examples/openai/ask.py "what is on my list?"
"""

import os
import sys

from openai import OpenAI

TOOLS = [{"type": "function", "function": {
    "name": "battery_level", "description": "Returns the charge of this device's battery.", "parameters": {"type": "object", "properties": {}},
}}]


def ask(client: OpenAI, messages: list) -> str:
    """Runs turns until one ends with an answer, and returns it."""
    while True:
        with client.chat.completions.stream(model="sluice", messages=messages, tools=TOOLS) as stream:
            for event in stream:
                if event.type == "content.delta":
                    print(event.delta, end="", flush=True)
            message = stream.get_final_completion().choices[0].message
        if not message.tool_calls:
            print()
            return message.content
        messages.append(message)
        messages += [{"role": "tool", "tool_call_id": call.id, "content": "80 percent"} for call in message.tool_calls]


if __name__ == "__main__":
    gateway = os.environ.get("SLUICE_URL", "http://127.0.0.1:8080")
    question = sys.argv[1] if len(sys.argv) > 1 else "what is on my list?"
    ask(OpenAI(base_url=gateway + "/v1", api_key="none"), [{"role": "user", "content": question}])
