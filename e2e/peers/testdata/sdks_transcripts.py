"""Plays turns through OpenAI's SDK.

The input is JSON with the address below which the turns are, their paths, and
those that are refused as a document. The output says, for each, what the SDK
has of it.
"""

import json
import sys

import openai

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


def play(base, turn, refused):
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
