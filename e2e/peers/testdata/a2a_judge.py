"""Uses a gateway over A2A with a2a-sdk, as a client would. Prints what held, a line each.

    a2a_judge.py BASE CARD_PATH BINDING VERSION [OTHER]

OTHER is a second gateway with the same store: tasks of the first one are then asked for,
followed, cancelled and answered there. What does not hold is an AssertionError, or whatever the SDK raises.
"""

import asyncio
import sys
import uuid

import httpx
from a2a.client import A2ACardResolver, ClientCallContext, ClientConfig, ClientFactory
from a2a.types import a2a_pb2 as pb
from a2a.utils import errors

BASE, PATH, BINDING, VERSION = sys.argv[1:5]
OTHER = sys.argv[5] if len(sys.argv) > 5 else BASE
EXTENSION = 'urn:sluice:events:v1'


def held(name):
    print(name, flush=True)


def message(text, **more):
    return pb.SendMessageRequest(message=pb.Message(
        message_id=str(uuid.uuid4()), role=pb.ROLE_USER, parts=[pb.Part(text=text)], **more))


async def client(http, card, **more):
    chosen = pb.AgentCard()
    chosen.CopyFrom(card)
    del chosen.supported_interfaces[:]
    chosen.supported_interfaces.extend(
        i for i in card.supported_interfaces if i.protocol_binding == BINDING and i.protocol_version == VERSION)
    assert len(chosen.supported_interfaces) == 1, card
    return ClientFactory(ClientConfig(httpx_client=http, supported_protocol_bindings=[BINDING], **more)).create(chosen)


class Told:
    """What a stream told."""

    def __init__(self):
        self.kinds, self.text, self.state, self.task, self.question, self.extra, self.last = [], '', None, None, '', [], False

    def hear(self, ev):
        kind = ev.WhichOneof('payload')
        self.kinds.append(kind)
        if kind == 'task':
            self.task, self.state = ev.task, ev.task.status.state
            self.text = ''.join(p.text for a in ev.task.artifacts for p in a.parts)
        elif kind == 'artifact_update':
            update = ev.artifact_update
            assert update.artifact.artifact_id == 'answer' and update.append == (self.text != ''), update
            assert not self.last, 'a piece behind the last one'
            self.text += ''.join(p.text for p in update.artifact.parts)
            self.last = update.last_chunk
        else:
            update = ev.status_update
            self.state = update.status.state
            self.question = ''.join(p.text for p in update.status.message.parts)
            if EXTENSION in update.metadata:
                self.extra.append(update.metadata[EXTENSION]['event'])


async def tell(events, until=None):
    told = Told()
    async for ev in events:
        told.hear(ev)
        if until and until(told):
            break
    return told


async def refused(kind, awaitable):
    try:
        await awaitable
    except kind:
        return
    raise AssertionError(f'{kind.__name__} was not raised')


class Ended(Exception):
    """The task had ended before it was asked about."""


async def while_it_runs(streaming, there, act):
    """Does something with a task that has begun to answer. On a busy machine the task may have
    ended before: then it is done with another one."""
    for _ in range(20):
        running = streaming.send_message(message('Play some jazz'))
        begun = await tell(running, until=lambda t: t.text)
        try:
            return await act(begun.task.id)
        except (Ended, errors.UnsupportedOperationError, errors.TaskNotCancelableError):
            got = await there.get_task(pb.GetTaskRequest(id=begun.task.id))
            assert got.status.state == pb.TASK_STATE_COMPLETED, got
    raise AssertionError('no task was still running')


async def main():
    async with httpx.AsyncClient(timeout=60) as http:
        card = here = await A2ACardResolver(http, BASE, agent_card_path=PATH).get_agent_card()
        assert card.capabilities.streaming and not card.capabilities.push_notifications and card.skills
        assert [e.uri for e in card.capabilities.extensions] == [EXTENSION]
        held('card')

        plain, streaming = await client(http, card, streaming=False), await client(http, card)
        card = await A2ACardResolver(http, OTHER, agent_card_path=PATH).get_agent_card()
        there, streaming_there = await client(http, card, streaming=False), await client(http, card)
        sent = await tell(plain.send_message(message('Play some jazz')))
        assert sent.kinds == ['task'] and sent.state == pb.TASK_STATE_COMPLETED and sent.text, sent.task
        held('send')

        told = await tell(streaming.send_message(message('Play some jazz', context_id=sent.task.context_id)))
        assert told.kinds[:2] == ['task', 'status_update'] and 'artifact_update' in told.kinds, told.kinds
        assert told.state == pb.TASK_STATE_COMPLETED and told.last and told.text, told.text
        assert told.task.context_id == sent.task.context_id and not told.extra
        held('stream')

        got = await there.get_task(pb.GetTaskRequest(id=told.task.id))
        assert ''.join(p.text for a in got.artifacts for p in a.parts) == told.text and len(got.history) == 2, got
        if VERSION == '1.0':
            listed = await there.list_tasks(pb.ListTasksRequest(context_id=sent.task.context_id, page_size=1))
            assert listed.total_size == 2 and listed.next_page_token and [t.id for t in listed.tasks] == [told.task.id], listed
            rest = await there.list_tasks(pb.ListTasksRequest(context_id=sent.task.context_id, page_token=listed.next_page_token))
            assert [t.id for t in rest.tasks] == [sent.task.id] and not rest.next_page_token, rest
        held('get')

        async def follow(task):
            rest = await tell(streaming_there.subscribe(pb.SubscribeToTaskRequest(id=task)))
            if rest.task.status.state == pb.TASK_STATE_COMPLETED:
                raise Ended
            assert rest.kinds[0] == 'task' and rest.task.status.state == pb.TASK_STATE_WORKING, rest.task
            assert rest.state == pb.TASK_STATE_COMPLETED and rest.text == told.text, (rest.text, told.text)

        await while_it_runs(streaming, there, follow)
        held('subscribe')

        async def stop(task):
            stopped = await there.cancel_task(pb.CancelTaskRequest(id=task))
            if stopped.status.state == pb.TASK_STATE_COMPLETED:
                raise Ended
            assert stopped.status.state == pb.TASK_STATE_CANCELED, stopped

        await while_it_runs(streaming, there, stop)
        held('cancel')

        asked = await tell(streaming.send_message(message('Turn it up')))
        assert asked.state == pb.TASK_STATE_INPUT_REQUIRED and asked.question == asked.text != '', asked.question
        replied = await tell(streaming_there.send_message(message('Play some jazz', task_id=asked.task.id)))
        assert replied.task.id == asked.task.id and replied.state == pb.TASK_STATE_COMPLETED, replied.task
        assert replied.task.context_id == asked.task.context_id
        held('question')

        context = ClientCallContext(service_parameters={'A2A-Extensions': EXTENSION, 'X-A2A-Extensions': EXTENSION})
        more = await tell(streaming.send_message(message('Play some jazz'), context=context))
        assert {'route', 'agent', 'tool_call', 'done'} <= set(more.extra) and more.text == told.text, more.extra
        held('extension')

        await refused(errors.TaskNotFoundError, there.get_task(pb.GetTaskRequest(id='task_00000000000000000000000000')))
        await refused(errors.TaskNotCancelableError, there.cancel_task(pb.CancelTaskRequest(id=told.task.id)))
        await refused(errors.UnsupportedOperationError, tell(streaming_there.subscribe(pb.SubscribeToTaskRequest(id=told.task.id))))
        file = message('x')
        file.message.parts.append(pb.Part(url='https://example.com/a.png', media_type='image/png'))
        await refused(errors.ContentTypeNotSupportedError, tell(plain.send_message(file)))
        await refused(errors.ContentTypeNotSupportedError, tell(streaming.send_message(file)))
        await refused(errors.InvalidParamsError, tell(plain.send_message(message('x', context_id='no id of ours'))))
        await refused(errors.UnsupportedOperationError, tell(there.send_message(message('x', task_id=told.task.id))))
        held('refusals')

        polling = await client(http, here, streaming=False, polling=True)
        early = await tell(polling.send_message(message('Play some jazz')))
        assert early.state == pb.TASK_STATE_WORKING, early.task
        while (now := await there.get_task(pb.GetTaskRequest(id=early.task.id))).status.state == pb.TASK_STATE_WORKING:
            await asyncio.sleep(0.05)
        assert now.status.state == pb.TASK_STATE_COMPLETED, now
        held('poll')


asyncio.run(main())
