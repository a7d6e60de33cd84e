"""Asks for turns whose connections are cut, and leaves it to OpenAI's SDK to send them again.
Arguments: an address, a question and how many turns; the output says how they ended."""

import asyncio
import collections
import json
import sys

import openai


async def main(gateway: str, question: str, turns: str) -> None:
    client = openai.AsyncOpenAI(base_url=gateway + "/v1", api_key="none")
    ended = collections.Counter()

    async def ask(i: int) -> None:
        try:
            messages = [{"role": "user", "content": f"{question} thing-python-{i}"}]
            await client.chat.completions.create(model="sluice", stream=i % 2 == 1, messages=messages)
        except openai.APIStatusError as e:
            ended[f"{e.status_code} {e.code}"] += 1
        else:
            ended["answered"] += 1

    await asyncio.gather(*(ask(i) for i in range(int(turns))))
    print(json.dumps({"python": ended}))


asyncio.run(main(*sys.argv[1:]))
