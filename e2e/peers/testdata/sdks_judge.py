"""Uses a gateway through LangChain, LiteLLM, llm and OpenAI's Agents SDK. Arguments: its address, a question and a
folder for llm; the output says as JSON what each client got."""

import asyncio
import json
import os
import pathlib
import sys
import traceback

from pydantic import BaseModel

BASE, QUESTION, FOLDER = sys.argv[1] + "/v1", sys.argv[2], pathlib.Path(sys.argv[3])
WEATHER = {"type": "function", "function": {"name": "get_weather", "description": "The weather", "parameters": {
    "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}
ASKS = {"role": "user", "content": "What is the weather?"}


class Note(BaseModel):
    """What was asked."""

    title: str
    urgent: bool


def refused(call) -> str:
    try:
        call()
    except Exception as e:  # whatever class the client has for it
        response = getattr(e, "response", None)
        request_id = getattr(e, "request_id", None) or (response.headers.get("x-request-id") if response is not None else None)
        return f"{type(e).__name__} {getattr(e, 'status_code', '')} {(request_id or '')[:4]}"
    return "not refused"


def langchain() -> dict:
    from langchain_core.messages import HumanMessage, ToolMessage
    from langchain_openai import ChatOpenAI

    def model(name: str = "sluice") -> ChatOpenAI:
        return ChatOpenAI(model=name, base_url=BASE, api_key="none", max_retries=0, stream_usage=True)

    whole, streamed = model().invoke(QUESTION), None
    for chunk in model().stream(QUESTION):
        streamed = chunk if streamed is None else streamed + chunk
    human = HumanMessage(ASKS["content"])
    asked = model().bind_tools([WEATHER], tool_choice="any").invoke([human])
    call = asked.tool_calls[0]
    answered = model().bind_tools([WEATHER]).invoke([human, asked, ToolMessage("minus 5", tool_call_id=call["id"])])
    objects = [model().with_structured_output(Note, method=method).invoke(QUESTION) for method in ("json_schema", "function_calling")]
    return {
        "text": whole.content, "streamed": streamed.content, "usage": streamed.usage_metadata["total_tokens"] > 0,
        "call": f"{asked.response_metadata['finish_reason']} {call['name']}", "answered": answered.response_metadata["finish_reason"],
        "object": all(isinstance(o, Note) for o in objects), "refused": refused(lambda: model("gpt-9").invoke(QUESTION)),
    }


def litellm() -> dict:
    import litellm

    litellm.suppress_debug_info = True  # it goes to the output

    def complete(messages: list, name: str = "sluice", **more):
        return litellm.completion(model="openai/" + name, api_base=BASE, api_key="none", messages=messages, max_retries=0, **more)

    asks = [{"role": "user", "content": QUESTION}]
    whole = complete(asks)
    streamed = litellm.stream_chunk_builder(list(complete(asks, stream=True, stream_options={"include_usage": True})))
    asked = complete([ASKS], tools=[WEATHER], tool_choice="required").choices[0]
    call = asked.message.tool_calls[0]
    answered = complete([ASKS, asked.message.model_dump(), {"role": "tool", "tool_call_id": call.id, "content": "minus 5"}], tools=[WEATHER])
    object = complete(asks, response_format=Note).choices[0].message.content
    return {
        "text": whole.choices[0].message.content, "streamed": streamed.choices[0].message.content, "usage": streamed.usage.total_tokens > 0,
        "call": f"{asked.finish_reason} {call.function.name}", "answered": answered.choices[0].finish_reason,
        "object": isinstance(Note.model_validate_json(object), Note), "refused": refused(lambda: complete(asks, "gpt-9")),
    }


def llm() -> dict:
    (FOLDER / "extra-openai-models.yaml").write_text(
        f"- model_id: sluice\n  model_name: sluice\n  api_base: {BASE}\n  supports_tools: true\n  supports_schema: true\n"
        f"- model_id: nobody\n  model_name: gpt-9\n  api_base: {BASE}\n")
    os.environ["LLM_USER_PATH"] = str(FOLDER)
    import llm

    def get_weather(city: str = "Oslo") -> str:
        """The weather"""
        return "minus 5"

    model = llm.get_model("sluice")
    whole, stream = model.prompt(QUESTION, stream=False), model.prompt(QUESTION, stream=True)
    streamed = "".join(stream)
    # It has no way to oblige a model, which here calls the tool by itself.
    called = []
    chain = model.chain("Look at the weather", tools=[get_weather], after_call=lambda tool, call, result: called.append(f"{call.name} {result.output}"))
    answered = "".join(chain)
    return {
        "text": whole.text(), "streamed": streamed, "usage": (stream.usage().output or 0) > 0,
        "call": ", ".join(called), "answered": answered,
        "object": isinstance(Note.model_validate_json(model.prompt(QUESTION, schema=Note, stream=False).text()), Note),
        "refused": refused(lambda: llm.get_model("nobody").prompt(QUESTION, stream=False).text()),
    }


def agents() -> dict:
    """Speaks the Responses API, which is what the Agents SDK does unless it is told otherwise."""
    import agents
    import openai

    agents.set_tracing_disabled(True)
    called = []

    @agents.function_tool
    def get_weather(city: str = "Oslo") -> str:
        """The weather"""
        called.append("get_weather minus 5")
        return "minus 5"

    async def run() -> dict:
        client = openai.AsyncOpenAI(base_url=BASE, api_key="none", max_retries=0)

        def agent(name: str = "sluice", **more):
            return agents.Agent(name="a", model=agents.OpenAIResponsesModel(model=name, openai_client=client), **more)

        whole = await agents.Runner.run(agent(), QUESTION)
        streamed, text = agents.Runner.run_streamed(agent(), QUESTION), ""
        async for event in streamed.stream_events():
            if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
                text += event.data.delta
        answered = await agents.Runner.run(agent(tools=[get_weather]), "Look at the weather")
        object = await agents.Runner.run(agent(output_type=Note), QUESTION)
        try:
            await agents.Runner.run(agent("gpt-9"), QUESTION)
            wrong = "not refused"
        except openai.APIStatusError as e:
            wrong = f"{type(e).__name__} {e.status_code} {(e.request_id or '')[:4]}"
        return {
            "text": whole.final_output, "streamed": text, "usage": streamed.context_wrapper.usage.total_tokens > 0, "call": ", ".join(called), "answered": answered.final_output,
            "object": isinstance(object.final_output, Note), "refused": wrong,
        }

    return asyncio.run(run())


def main() -> None:
    seen = {}
    for client in (langchain, litellm, llm, agents):
        try:
            seen[client.__name__] = client()
        except Exception:  # what it is is for the test to say
            seen[client.__name__] = {"failed": traceback.format_exc()}
    print(json.dumps(seen))


main()
