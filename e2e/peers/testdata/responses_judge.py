"""Uses a gateway's Responses API through OpenAI's SDK, and says what held. Arguments: the address
of a gateway with a store that asks before it writes, that of one without a store, and the text
that the native stream gives for the question."""

import sys

import openai
import pydantic
from openai.types import responses as types
from openai.types.responses import Response, ResponseStreamEvent

QUESTION = "Show my todos"
TOOL = {"type": "function", "name": "get_weather", "strict": False, "parameters": {
    "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}
EVENT = pydantic.TypeAdapter(ResponseStreamEvent)


class City(pydantic.BaseModel):
    city: str


def strict(event) -> None:
    """Whether an event is one of the schema's, with all that it requires. The SDK itself looks at
    nothing."""
    EVENT.validate_python(event.to_dict())


def events(stream) -> list:
    """Reads a stream: each event is of the schema, and they are numbered from 0."""
    seen = list(stream)
    for n, event in enumerate(seen):
        strict(event)
        assert event.sequence_number == n, event
    return seen


def fails(call, kind, code) -> None:
    try:
        call()
    except kind as e:
        assert e.code == code and e.request_id.startswith("req_"), (e, e.code, e.request_id)
    else:
        raise AssertionError(code)


def main(base: str, plain_base: str, native: str) -> None:
    client = openai.OpenAI(base_url=base + "/v1", api_key="none", max_retries=0)
    plain = openai.OpenAI(base_url=plain_base + "/v1", api_key="none", max_retries=0)
    create = client.responses.create

    whole = create(model="sluice", input=QUESTION, metadata={"a": "b"})
    Response.model_validate(whole.to_dict())
    assert whole.output_text == native and whole.status == "completed" and whole.metadata == {"a": "b"} and whole.store, whole
    assert any(item.type == "mcp_call" and item.status == "completed" and item.output for item in whole.output), whole.output
    assert whole.usage.total_tokens == whole.usage.input_tokens + whole.usage.output_tokens > 0
    print("document")

    seen = events(create(model="sluice", input=QUESTION, stream=True))
    assert seen[-1].type == "response.completed" and seen[-1].response.output_text == native, seen[-1]
    with client.responses.stream(model="sluice", input=[{"role": "user", "content": QUESTION}]) as stream:
        said = "".join(e.delta for e in stream if e.type == "response.output_text.delta")
        final = stream.get_final_response()
    assert said == final.output_text == native, final
    print("stream")

    told = events(client.responses.retrieve(final.id, stream=True))
    rest = list(client.responses.retrieve(final.id, stream=True, starting_after=5))
    assert [e.to_dict() for e in rest] == [e.to_dict() for e in told[6:]], rest
    assert client.responses.retrieve(final.id).to_dict() == told[-1].response.to_dict()
    print("retrieve")

    again = client.responses.create(model="sluice", input="what did I just ask for?", previous_response_id=final.id)
    assert QUESTION.lower() in again.output_text.lower(), again.output_text
    branch = create(model="sluice", input="what did I just ask for?", previous_response_id=final.id)
    assert branch.previous_response_id == final.id and QUESTION.lower() in branch.output_text.lower()
    print("previous")

    ask = {"model": "sluice", "tools": [TOOL], "tool_choice": {"type": "function", "name": "get_weather"}, "input": "What is the weather?"}
    asked = create(**ask)
    call = next(item for item in asked.output if item.type == "function_call")
    output = {"type": "function_call_output", "call_id": call.call_id, "output": "minus 5"}
    answered = client.responses.create(model="sluice", tools=[TOOL], previous_response_id=asked.id, input=[output])
    assert answered.status == "completed" and answered.output_text, answered
    sent = [{"role": "user", "content": ask["input"]}, *[item.to_dict() for item in asked.output], output]
    assert plain.responses.create(model="sluice", tools=[TOOL], input=sent, store=False).output_text
    events(create(**ask, stream=True))
    print("tools")

    wants = create(model="sluice", input="Remind me to buy milk")
    asks = [item for item in wants.output if item.type == "mcp_approval_request"]
    assert asks, wants
    done = client.responses.create(model="sluice", previous_response_id=wants.id, input=[
        {"type": "mcp_approval_response", "approval_request_id": item.id, "approve": True} for item in asks])
    assert any(item.type == "mcp_call" and item.status == "completed" for item in done.output) and done.output_text, done
    print("approval")

    parsed = create(model="sluice", input="Oslo", text={"format": {"type": "json_object"}})
    assert parsed.output_text.startswith("{"), parsed
    parsed = client.responses.parse(model="sluice", input="Which city is it?", text_format=City)
    assert isinstance(parsed.output_parsed, City), parsed
    print("parse")

    client.responses.delete(final.id)
    fails(lambda: client.responses.retrieve(final.id), openai.NotFoundError, "not_found")
    begun = create(model="sluice", input=QUESTION, background=True)
    assert begun.status in ("in_progress", "completed"), begun
    try:
        assert client.responses.cancel(begun.id).status in ("cancelled", "completed", "in_progress")
    except openai.ConflictError:
        pass  # it was quicker
    fails(lambda: client.responses.cancel("resp_1"), openai.NotFoundError, "not_found")
    print("delete and cancel")

    for refused, code in (
        (lambda: create(model="gpt-9", input="x"), "model_not_found"),
        (lambda: create(model="sluice", input="x", prompt={"id": "p"}), "unsupported_parameter"),
        (lambda: create(model="sluice", input="x", previous_response_id=final.id), "previous_response_not_found"),
        (lambda: plain.responses.create(model="sluice", input="x", previous_response_id=final.id), "unsupported_parameter"),
        (lambda: plain.responses.create(model="sluice", input=[{"type": "item_reference", "id": "msg_1"}]), "unsupported_value"),
        (lambda: client.conversations.create(), "not_found"),
    ):
        fails(refused, openai.NotFoundError if code.endswith("not_found") and code != "previous_response_not_found" else openai.BadRequestError, code)
    other = client.responses.with_raw_response.create(model="sluice", input=QUESTION, tools=[TOOL, {"type": "web_search"}])
    ignored = other.headers.get("x-sluice-ignored")
    assert ignored and "web_search" in ignored, ignored
    assert [tool.name for tool in other.parse().tools] == ["get_weather"], other.parse().tools
    assert not plain.responses.create(model="sluice", input=QUESTION).store
    print("refusals")


main(*sys.argv[1:])
