"""An agent of its own, in Python, that other agents reach over A2A: it tells the weather.

    python agent.py [--port 9100] [--interface JSONRPC/1.0] [--pace 0.2]

It needs no key and no network: the weather is made up, and the same each time. --interface may
be repeated, and says what the card offers, the best one first: JSONRPC or HTTP+JSON, in 1.0 or 0.3.
"""

import argparse
import asyncio
import re

import uvicorn
from a2a.helpers import new_task_from_user_message, new_text_message, new_text_part
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill
from starlette.applications import Starlette

SKIES = ['clear sky', 'light clouds', 'rain', 'fog', 'a thunderstorm']


def forecast(city):
    """What the weather is like: made up, but the same for the same city."""
    n = sum(map(ord, city.lower()))
    return f'The weather in {city}: {SKIES[n % len(SKIES)]}, {n % 30} degrees, wind from the west.'


class Weather(AgentExecutor):
    """Answers in pieces, so that a reader sees the answer grow; asks back if no city is named."""

    def __init__(self, pace):
        self.pace = pace

    async def execute(self, context, event_queue):
        task = context.current_task
        if not task:
            task = new_task_from_user_message(context.message)
            await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        await updater.start_work()
        # What the gateway tells of the conversation and the circumstances stands before the request.
        request = context.get_user_input().split('The request:\n')[-1]
        cities = re.findall(r'\b(?:in|answered:)(?: in)? (\w+)', request)
        if not cities:
            await updater.requires_input(new_text_message('For which city?', task.context_id, task.id))
            return
        if cities[-1] == 'Atlantis':
            await updater.failed(new_text_message('There is no such city.', task.context_id, task.id))
            return
        words = re.findall(r'\S+\s*', forecast(cities[-1]))
        for n, word in enumerate(words):
            await updater.add_artifact([new_text_part(word)], artifact_id='forecast', append=n > 0, last_chunk=n == len(words) - 1)
            await asyncio.sleep(self.pace)
        await updater.complete()

    async def cancel(self, context, event_queue):
        print('cancelled', context.task_id, flush=True)
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def main():
    args = argparse.ArgumentParser(description='an A2A agent that tells the weather')
    args.add_argument('--port', type=int, default=9100)
    args.add_argument('--interface', action='append', metavar='BINDING/VERSION')
    args.add_argument('--pace', type=float, default=0.2, help='seconds between two words')
    args = args.parse_args()
    base = f'http://127.0.0.1:{args.port}'
    places = {'JSONRPC': base + '/rpc', 'HTTP+JSON': base + '/rest'}
    card = AgentCard(
        name='Weather', description='Tells the weather of a city', version='1.0.0',
        capabilities=AgentCapabilities(streaming=True), default_input_modes=['text/plain'], default_output_modes=['text/plain'],
        skills=[AgentSkill(id='weather', name='weather', description='Tells the weather of a city', tags=['forecast', 'temperature', 'wind'],
                           examples=['What is the weather like in Lisbon?'])])
    for interface in args.interface or ['JSONRPC/1.0', 'HTTP+JSON/1.0', 'JSONRPC/0.3']:
        binding, version = interface.rsplit('/', 1)
        card.supported_interfaces.append(AgentInterface(url=places[binding], protocol_binding=binding, protocol_version=version))
    handler = DefaultRequestHandler(agent_executor=Weather(args.pace), task_store=InMemoryTaskStore(), agent_card=card)
    routes = [
        *create_agent_card_routes(card),
        *create_jsonrpc_routes(handler, '/rpc', enable_v0_3_compat=True),
        *create_rest_routes(handler, path_prefix='/rest', enable_v0_3_compat=True),
    ]
    uvicorn.run(Starlette(routes=routes), host='127.0.0.1', port=args.port, log_level='warning')


if __name__ == '__main__':
    main()
