"""Plays turns through OpenAI's SDK.

The input is JSON with the address below which the turns are, their paths, and
those that are refused as a document. The output says, for each, what the SDK
has of it.
"""

import json
import sys
import urllib.request

import openai
import pydantic
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response, ResponseStreamEvent

EVENT = pydantic.TypeAdapter(ResponseStreamEvent)
MESSAGES = [{"role": "user", "content": "go"}]


def completed(completion):
    choice = completion.choices[0]
    calls = [call.function.name for call in choice.message.tool_calls or []]
    return {"Text": choice.message.content or "", "Calls": calls, "Verdict": choice.finish_reason}


def responded(response):
    calls = [item.name for item in response.output if item.type in ("mcp_call", "function_call")]
    return {"Text": response.output_text, "Calls": calls, "Verdict": response.status}


def streamed(client):
    text = ""
    try:
        with client.chat.completions.stream(model="sluice", messages=MESSAGES) as stream:
            for event in stream:
                if event.type == "content.delta":
                    text = event.snapshot
            return completed(stream.get_final_completion())
    except (openai.LengthFinishReasonError, openai.ContentFilterFinishReasonError) as e:
        return completed(e.completion)  # the SDK gives nothing else for these
    except openai.APIError as e:
        return {"Text": text, "Calls": [], "Verdict": "error " + e.message}


def response(client):
    with client.responses.stream(model="sluice", input="go") as stream:
        for event in stream:
            last = event
        seen = responded(last.response)
        if seen["Verdict"] == "completed":
            assert stream.get_final_response().output_text == seen["Text"]
        return seen


def checked(base, turn, refused):
    """Holds each frame, and each document, against the types of the SDK, which builds them unchecked."""
    chat, create = {"model": "sluice", "messages": MESSAGES}, {"model": "sluice", "input": "go"}

    def post(path, body):
        request = urllib.request.Request(f"{base}/{turn}/v1{path}", json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as reply:
            return reply.read().decode()

    def frames(path, body):
        for frame in post(path, {**body, "stream": True}).split("\n\n"):
            data = frame.partition("data: ")[2]
            if data not in ("", "[DONE]"):
                yield data

    for data in frames("/chat/completions", chat):
        if "error" not in json.loads(data):
            ChatCompletionChunk.model_validate_json(data)
    for data in frames("/responses", create):
        EVENT.validate_json(data)
    if not refused:
        ChatCompletion.model_validate_json(post("/chat/completions", chat))
        Response.model_validate_json(post("/responses", create))


def play(base, turn, refused):
    checked(base, turn, refused)
    client = openai.OpenAI(base_url=f"{base}/{turn}/v1", api_key="none", max_retries=0)
    played = {"Stream": streamed(client), "Response": response(client)}
    if not refused:
        played["Document"] = completed(client.chat.completions.create(model="sluice", messages=MESSAGES))
        played["ResponseDocument"] = responded(client.responses.create(model="sluice", input="go"))
    return played


def main():
    given = json.load(sys.stdin)
    refused = set(given["refused"] or [])
    json.dump({turn: play(given["base"], turn, turn in refused) for turn in given["turns"]}, sys.stdout)


main()
