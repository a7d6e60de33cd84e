"""Answers questions of a gateway over A2A with a2a-sdk, as a client would. Prints what held, a line each.

    a2a_approvals.py BASE CARD_PATH BINDING VERSION

The gateway asks before it changes the todo list. What does not hold is an AssertionError, or whatever the SDK raises.
"""

import asyncio
import sys
import uuid

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import a2a_pb2 as pb
from a2a.utils import errors
from google.protobuf import json_format, struct_pb2

BASE, PATH, BINDING, VERSION = sys.argv[1:5]


def held(name):
    print(name, flush=True)


def request(part, **more):
    return pb.SendMessageRequest(message=pb.Message(message_id=str(uuid.uuid4()), role=pb.ROLE_USER, parts=[part], **more))


def said(text, **more):
    return request(pb.Part(text=text), **more)


def answered(answer, **more):
    return request(pb.Part(data=json_format.ParseDict({'approval': answer}, struct_pb2.Value())), **more)


def asked(status):
    """Returns the question of a status."""
    assert status.state == pb.TASK_STATE_INPUT_REQUIRED, status
    text, data = status.message.parts
    assert text.text == 'Allow the call of create_todo?', text
    return json_format.MessageToDict(data.data)['approval']


async def last(events):
    """Returns the task that a reply told of, its last status, and the tools' answer."""
    task, status, text = None, None, ''
    async for ev in events:
        kind = ev.WhichOneof('payload')
        if kind == 'task':
            task, status = ev.task, ev.task.status
            text = ''.join(p.text for a in ev.task.artifacts for p in a.parts)
        elif kind == 'artifact_update':
            text += ''.join(p.text for p in ev.artifact_update.artifact.parts)
        else:
            status = ev.status_update.status
    return task, status, text


async def main():
    async with httpx.AsyncClient(timeout=60) as http:
        card = await A2ACardResolver(http, BASE, agent_card_path=PATH).get_agent_card()
        chosen = pb.AgentCard()
        chosen.CopyFrom(card)
        del chosen.supported_interfaces[:]
        chosen.supported_interfaces.extend(
            i for i in card.supported_interfaces if i.protocol_binding == BINDING and i.protocol_version == VERSION)
        streaming = ClientFactory(ClientConfig(httpx_client=http, supported_protocol_bindings=[BINDING])).create(chosen)
        plain = ClientFactory(ClientConfig(httpx_client=http, supported_protocol_bindings=[BINDING], streaming=False)).create(chosen)

        task, status, _ = await last(streaming.send_message(said('Remind me to buy eggs')))
        question = asked(status)
        assert question['calls'][0]['arguments']['title'] == 'buy eggs' and question['token'], question
        held('asked')

        shown = asked((await plain.get_task(pb.GetTaskRequest(id=task.id))).status)
        assert shown['approval_id'] == question['approval_id'] and 'token' not in shown, shown
        held('shown')

        try:
            await last(plain.send_message(said('Yes, please', task_id=task.id)))
            raise AssertionError('words that are no answer were taken')
        except errors.InvalidParamsError:
            held('refused')

        _, status, text = await last(plain.send_message(said('approve', task_id=task.id)))
        assert status.state == pb.TASK_STATE_COMPLETED and 'buy eggs' in text, (status, text)
        held('approve')

        try:
            await last(plain.send_message(said('approve', task_id=task.id)))
            raise AssertionError('two answers were taken')
        except errors.UnsupportedOperationError:
            held('once')

        task, status, _ = await last(plain.send_message(said('Remind me to buy milk')))
        asked(status)
        _, status, text = await last(streaming.send_message(answered({'action': 'reject', 'message': 'Not today.'}, task_id=task.id)))
        assert status.state == pb.TASK_STATE_COMPLETED and "couldn't add" in text, (status, text)
        held('reject')

        task, status, _ = await last(streaming.send_message(said('Remind me to buy tea')))
        call = asked(status)['calls'][0]['call_id']
        _, status, text = await last(streaming.send_message(answered(
            {'calls': [{'call_id': call, 'action': 'modify', 'arguments': {'title': 'buy coffee'}}]}, task_id=task.id)))
        assert status.state == pb.TASK_STATE_COMPLETED and 'coffee' in text, (status, text)
        held('modify')


asyncio.run(main())
