"""Judges what POST /chatkit sends, with the types of ChatKit's own Python package.

    chatkit_judge.py                     reads cases, one JSON object a line, from stdin:
                                         {"name", "kind", "body", "retry", "cut"}; kind is
                                         "stream", or the type of the request that was
                                         answered. Writes for each a line
                                         {"name", "faults", "text", "items", "seen"}
    chatkit_judge.py requests THREAD MSG writes requests as the package builds them:
                                         {"type", "supported", "body"}

A frame must be one of the package's events, with no field that the event does not
have, and the items of a stream must come in an order that a client can follow.
"""

import json
import sys

from chatkit import types
from pydantic import TypeAdapter, ValidationError

EVENTS = TypeAdapter(types.ThreadStreamEvent)
REPLIES = {
    "threads.list": TypeAdapter(types.Page[types.Thread]),
    "items.list": TypeAdapter(types.Page[types.ThreadItem]),
    "threads.get_by_id": TypeAdapter(types.Thread),
    "threads.update": TypeAdapter(types.Thread),
}


class Fault(Exception):
    pass


def need(condition, message):
    if not condition:
        raise Fault(message)


def unknown(given, dumped, path=""):
    """Finds what the package has not taken over from a JSON value."""
    if isinstance(given, dict) and isinstance(dumped, dict):
        for key in given.keys() - dumped.keys():
            raise Fault(f"{path}/{key} is not known")
        for key in given:
            unknown(given[key], dumped.get(key), f"{path}/{key}")
    elif isinstance(given, list) and isinstance(dumped, list):
        need(len(given) == len(dumped), f"{path} has another length")
        for i, (a, b) in enumerate(zip(given, dumped)):
            unknown(a, b, f"{path}/{i}")
    elif path.endswith("/created_at"):
        need(given.endswith("Z"), f"{path} is not in UTC")
    else:
        need(given == dumped, f"{path} is read as {dumped!r}")


def strict(adapter, text):
    try:
        parsed = adapter.validate_json(text)
    except ValidationError as e:
        raise Fault(f"not of its type: {e}") from None
    unknown(json.loads(text), adapter.dump_python(parsed, mode="json", exclude_unset=True))
    return parsed


def frames(body):
    """Splits a stream into the JSON of its frames; nothing else may be in it."""
    if body == "":
        return
    need(body.endswith("\n\n"), "the last frame is not complete")
    for frame in body[:-2].split("\n\n"):
        need(frame.startswith("data: {") and frame.endswith("}"), f"no frame: {frame[:80]!r}")
        need(len(frame.splitlines()) == 1, f"more than one line: {frame[:80]!r}")
        yield frame[len("data: "):]


class Stream:
    """Follows a stream as a client does."""

    def __init__(self, retry):
        self.retry = retry
        self.thread = None
        self.user = None
        self.options = False
        self.ended = False
        self.open = {}  # items that are not done, by id
        self.done = []
        self.gone = []  # ids of items that were removed
        self.kinds = []

    def take(self, event):
        need(not self.ended, f"{event.type} after the error")
        if event.type not in ("thread.created", "stream_options"):
            head = event.type == "thread.item.done" and event.item.type == "user_message"
            need(self.options or head, f"{event.type} before stream_options")
        getattr(self, event.type.replace(".", "_"))(event)
        self.kinds.append(event.type)

    def thread_created(self, event):
        need(self.kinds == [] and not self.retry, "thread.created is not the first event")
        need(event.thread.items.data == [], "a new thread has items")
        self.thread = event.thread.id

    def stream_options(self, event):
        need(self.retry or self.user, "stream_options before the user's message")
        need(event.stream_options.allow_cancel, "the turn cannot be cancelled")
        self.options = True

    def notice(self, event):
        need(event.message and event.title, "an empty notice")

    def progress_update(self, event):
        need(event.text and "\n" not in event.text, "progress that says nothing")

    def error(self, event):
        need(not self.open, "an error while an item is open")
        need(event.code == "custom" and event.message, "an error that says nothing")
        self.ended = True

    def known(self, item):
        self.thread = self.thread or item.thread_id
        need(item.thread_id == self.thread, "an item of another thread")
        need(item.created_at.tzinfo is not None, "a time without its zone")

    def new(self, item):
        ids = [i.id for i in self.done] + list(self.open) + self.gone
        need(item.id not in ids, f"the id {item.id} is used twice")

    def thread_item_added(self, event):
        item = event.item
        self.known(item)
        self.new(item)
        need(item.type in ("workflow", "assistant_message"), f"a {item.type} is added")
        need(not (item.workflow.tasks if item.type == "workflow" else item.content), "an item begins with content")
        same = [i for i in self.open.values() if i.type == item.type]
        need(not same, f"two items of type {item.type} are open at once")
        self.open[item.id] = item

    def thread_item_done(self, event):
        item = event.item
        self.known(item)
        if item.type == "user_message":
            need(self.user is None and not self.retry and not self.options, "the user's message out of place")
            need(item.attachments == [], "attachments from nowhere")
            self.new(item)
            self.user = item
        else:
            need(item.id in self.open, f"{item.id} is done, but not open")
            self.finish(self.open.pop(item.id), item)
        self.done.append(item)

    def finish(self, before, item):
        need((before.type, before.created_at) == (item.type, item.created_at), "an item has changed its nature")
        if item.type == "workflow":
            need(item.workflow.tasks == before.workflow.tasks, "the tasks at the end are others")
            need(all(t.status_indicator != "loading" for t in item.workflow.tasks), "a task is loading for ever")
            need(item.workflow.summary is not None, "a workflow without its duration")
        else:
            need(len(before.content) == 1 and getattr(before, "_closed", False), "the part of a message is not done")
            need(item.content == before.content, "the message at the end is another")

    def thread_item_removed(self, event):
        kept = [i for i in self.done if i.id == event.item_id and i is not self.user]
        need(event.item_id in self.open or kept, f"{event.item_id} is removed, but not there")
        self.open.pop(event.item_id, None)
        self.done = [i for i in self.done if i not in kept]
        self.gone.append(event.item_id)

    def thread_item_updated(self, event):
        item, update = self.open.get(event.item_id), event.update
        need(item is not None, f"{event.item_id} is updated, but not open")
        kind, _, what = update.type.rpartition(".")
        if item.type == "workflow":
            self.task(item.workflow.tasks, kind, what, update)
        else:
            self.part(item, kind, what, update)

    def task(self, tasks, kind, what, update):
        need(kind == "workflow.task", f"{update.type} of a workflow")
        need(update.task.type in ("thought", "custom"), f"a task of type {update.task.type}")
        if what == "added":
            need(update.task_index == len(tasks), "a task is added out of order")
            need(update.task.status_indicator == "loading", "a task begins with its end")
            tasks.append(update.task)
        else:
            need(0 <= update.task_index < len(tasks), "a task is updated that is not there")
            need(tasks[update.task_index].status_indicator == "loading", "a task is updated after its end")
            tasks[update.task_index] = update.task

    def part(self, item, kind, what, update):
        need(kind == "assistant_message.content_part" and update.content_index == 0, f"{update.type} of a message")
        need(not getattr(item, "_closed", False), "a part is touched after its end")
        if what == "added":
            need(item.content == [] and update.content.text == "", "a second part, or one with text")
            item.content.append(update.content)
            return
        need(len(item.content) == 1, f"{what} before the part was added")
        if what == "text_delta":
            need(update.delta != "", "an empty delta")
            item.content[0].text += update.delta
        else:
            need(update.content == item.content[0], "the part at the end is another")
            object.__setattr__(item, "_closed", True)

    def end(self, cut):
        need(cut or self.options, "the stream has said nothing")
        need(cut or not self.open, "an item is left open")


def text_of(items):
    """Returns the text of the assistant's messages."""
    return "".join(c.text for i in items if i.type == "assistant_message" for c in i.content)


def judge_stream(case, verdict):
    stream = Stream(case.get("retry", False))
    try:
        for number, text in enumerate(frames(case["body"])):
            try:
                stream.take(strict(EVENTS, text))
            except Fault as fault:
                raise Fault(f"frame {number}: {fault}: {text[:500]}") from None
        stream.end(case.get("cut", False))
    finally:
        verdict["text"] = text_of(stream.done + list(stream.open.values()))
        verdict["items"] = [item.type for item in stream.done]
        verdict["seen"] = stream.kinds


def judge(case):
    verdict = {"name": case["name"], "faults": []}
    try:
        if case["kind"] == "stream":
            judge_stream(case, verdict)
        elif case["kind"] in REPLIES:
            reply = strict(REPLIES[case["kind"]], case["body"])
            if case["kind"] == "items.list":
                verdict["text"] = text_of(reply.data)
        else:
            need(case["body"] == "{}", f"the reply is {case['body']!r}")
    except Fault as fault:
        verdict["faults"].append(str(fault))
    return verdict


def requests(thread, message):
    text = types.UserMessageTextContent(text="What is on ")
    tag = types.UserMessageTagContent(id="list_1", text="my list", data={"kind": "list", "n": [1, None]}, group="Lists", interactive=True)
    more = types.UserMessageTextContent(text="? ünï 😀")

    def said(*content, **fields):
        fields = {"attachments": [], "inference_options": types.InferenceOptions()} | fields
        return types.UserMessageInput(content=list(content), **fields)

    action = types.ThreadCustomActionParams(thread_id=thread, action=types.Action(type="press", payload=None))
    answer = types.ThreadAddStructuredInputParams(thread_id=thread, item_id=message, input=types.StructuredInputSubmission())
    tool = types.InferenceOptions(tool_choice=types.ToolChoice(id="x"))
    metadata = {"user_id": "ann", "timezone": "Europe/Berlin", "other": [1]}
    yes = [
        types.ThreadsCreateReq(params=types.ThreadCreateParams(input=said(text, tag, more, quoted_text="eggs\nmilk"))),
        types.ThreadsAddUserMessageReq(params=types.ThreadAddUserMessageParams(thread_id=thread, input=said(more))),
        types.ThreadsRetryAfterItemReq(params=types.ThreadRetryAfterItemParams(thread_id=thread, item_id=message)),
        types.ThreadsGetByIdReq(params=types.ThreadGetByIdParams(thread_id=thread)),
        types.ThreadsListReq(params=types.ThreadListParams()),
        types.ThreadsListReq(params=types.ThreadListParams(limit=1, order="asc")),
        types.ItemsListReq(params=types.ItemsListParams(thread_id=thread, limit=2, order="asc", after=message)),
        types.ItemsListReq(params=types.ItemsListParams(thread_id=thread)),
        types.ItemsFeedbackReq(params=types.ItemFeedbackParams(thread_id=thread, item_ids=[message], kind="negative")),
        types.ThreadsUpdateReq(params=types.ThreadUpdateParams(thread_id=thread, title="Mine")),
        types.ThreadsDeleteReq(params=types.ThreadDeleteParams(thread_id=thread)),
    ]
    no = [
        types.ThreadsCreateReq(params=types.ThreadCreateParams(input=said(text, attachments=["atc_1"]))),
        types.ThreadsCreateReq(params=types.ThreadCreateParams(input=said(text, inference_options=types.InferenceOptions(model="m")))),
        types.ThreadsCreateReq(params=types.ThreadCreateParams(input=said(text, inference_options=tool))),
        types.ThreadsCreateReq(params=types.ThreadCreateParams(input=said())),
        types.ThreadsCustomActionReq(params=action),
        types.ThreadsSyncCustomActionReq(params=action),
        types.ThreadsAddClientToolOutputReq(params=types.ThreadAddClientToolOutputParams(thread_id=thread, result=1)),
        types.ThreadsAddStructuredInputReq(params=answer),
        types.AttachmentsCreateReq(params=types.AttachmentCreateParams(name="a", size=1, mime_type="text/plain")),
        types.AttachmentsDeleteReq(params=types.AttachmentDeleteParams(attachment_id="atc_1")),
        types.InputTranscribeReq(params=types.InputTranscribeParams(audio_base64="", mime_type="audio/webm")),
    ]
    for supported, list_ in ((True, yes), (False, no)):
        for request in list_:
            request.metadata = metadata
            yield {"type": request.type, "supported": supported, "body": request.model_dump_json()}


def main():
    if sys.argv[1:2] == ["requests"]:
        lines = requests(*sys.argv[2:4])
    else:
        lines = (judge(json.loads(line)) for line in sys.stdin)
    for line in lines:
        print(json.dumps(line))


if __name__ == "__main__":
    main()
