"""Uses a gateway through OpenAI's SDK, and says what held. Arguments: its address, and the text
that the native stream gives for the question."""

import sys

import openai

QUESTION = [{"role": "user", "content": "Show my todos"}]
TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": {
    "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}]


def main(base: str, native: str) -> None:
    client = openai.OpenAI(base_url=base + "/v1", api_key="none")
    create = client.chat.completions.create
    assert [m.id for m in client.models.list()] == ["sluice"]
    assert client.models.retrieve("sluice").owned_by == "sluice"
    print("models")

    whole = create(model="sluice", messages=QUESTION)
    assert whole.choices[0].message.content == native, whole
    print("document")

    with client.chat.completions.stream(model="sluice", messages=QUESTION, stream_options={"include_usage": True}) as stream:
        for _ in stream:
            pass
        final = stream.get_final_completion()
    assert final.choices[0].message.content == native and final.choices[0].finish_reason == "stop", final
    assert final.usage.total_tokens == final.usage.prompt_tokens + final.usage.completion_tokens > 0
    print("stream")

    for refused, kind, code in (
        (lambda: create(model="gpt-9", messages=QUESTION), openai.NotFoundError, "model_not_found"),
        (lambda: create(model="sluice", messages=QUESTION, n=2), openai.BadRequestError, "unsupported_parameter"),
        (lambda: client.embeddings.create(model="sluice", input="x"), openai.NotFoundError, "not_found"),
        (lambda: client.models.retrieve("gpt-9"), openai.NotFoundError, "model_not_found"),
    ):
        try:
            refused()
        except kind as e:
            assert e.code == code and e.request_id.startswith("req_"), e
        else:
            raise AssertionError(code)
    print("refusals")

    messages = [{"role": "user", "content": "What is the weather?"}]
    asked = create(model="sluice", messages=messages, tools=TOOLS, tool_choice={"type": "function", "function": {"name": "get_weather"}})
    assert asked.choices[0].finish_reason == "tool_calls", asked
    call = asked.choices[0].message.tool_calls[0]
    messages += [asked.choices[0].message, {"role": "tool", "tool_call_id": call.id, "content": "minus 5"}]
    assert create(model="sluice", messages=messages, tools=TOOLS).choices[0].finish_reason == "stop"
    print("tools")


main(*sys.argv[1:])
