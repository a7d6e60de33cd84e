// Uses a gateway over A2A with @a2a-js/sdk, as a client would. Prints what held, a line
// each.
//
//	a2a.mjs BASE CARD_PATH BINDING VERSION [OTHER]
//
// OTHER is a second gateway with the same store: tasks of the first one are then asked for,
// followed, cancelled and answered there. What does not hold is thrown, as is whatever the SDK throws.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { Role, TaskState } from "@a2a-js/sdk";
import { ClientFactory, ClientFactoryOptions, JsonRpcTransportFactory, RestTransportFactory } from "@a2a-js/sdk/client";

const [base, path, binding, version, other = base] = process.argv.slice(2);
const extension = "urn:sluice:events:v1";
const held = (name) => console.log(name);

const text = (parts) => (parts ?? []).map((p) => (p.content?.$case === "text" ? p.content.value : "")).join("");

function message(input, more = {}) {
	return {
		tenant: "", metadata: undefined, configuration: undefined, ...(more.request ?? {}),
		message: {
			messageId: randomUUID(), role: Role.ROLE_USER, contextId: more.contextId ?? "", taskId: more.taskId ?? "",
			parts: [{ content: { $case: "text", value: input }, metadata: undefined, filename: "", mediaType: "" }, ...(more.parts ?? [])],
			metadata: undefined, extensions: [], referenceTaskIds: [],
		},
	};
}

// listen returns what a stream told, up to where until says so.
async function listen(events, until = () => false) {
	const told = { kinds: [], text: "", state: undefined, task: undefined, question: "", extra: [], last: false };
	for await (const { payload } of events) {
		told.kinds.push(payload.$case);
		const ev = payload.value;
		if (payload.$case === "task") {
			told.task = ev;
			told.state = ev.status.state;
			told.text = ev.artifacts.map((a) => text(a.parts)).join("");
		} else if (payload.$case === "artifactUpdate") {
			assert.equal(ev.artifact.artifactId, "answer");
			// The SDK drops append where it reads 0.3 over HTTP.
			if (binding !== "HTTP+JSON" || version !== "0.3") assert.equal(ev.append, told.text !== "");
			assert(!told.last, "a piece behind the last one");
			told.text += text(ev.artifact.parts);
			told.last = ev.lastChunk;
		} else {
			told.state = ev.status.state;
			told.question = text(ev.status.message?.parts);
			if (ev.metadata?.[extension]) told.extra.push(ev.metadata[extension].event);
		}
		if (until(told)) break;
	}
	return told;
}

async function refused(name, promise) {
	await assert.rejects(promise, (err) => {
		assert.equal(err.name, name, err.stack);
		return true;
	});
}

const legacy = { legacyCompat: { enabled: true } };
const factory = new ClientFactory(ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
	transports: [new JsonRpcTransportFactory(legacy), new RestTransportFactory(legacy)],
}));

async function clientOf(gateway) {
	const card = await (await fetch(gateway + path)).json();
	assert(card.capabilities.streaming && card.skills.length > 0);
	card.supportedInterfaces = card.supportedInterfaces.filter((i) => i.protocolBinding === binding && i.protocolVersion === version);
	assert.equal(card.supportedInterfaces.length, 1);
	const client = await factory.createFromAgentCard(card);
	assert.equal(client.protocolVersion, version);
	return client;
}

const client = await clientOf(base);
const there = await clientOf(other);
await factory.createFromUrl(base, path); // as the SDK reads it
held("card");

const sent = await client.sendMessage(message("Play some jazz"));
assert.equal(sent.status.state, TaskState.TASK_STATE_COMPLETED);
held("send");

const told = await listen(client.sendMessageStream(message("Play some jazz", { contextId: sent.contextId })));
assert.deepEqual(told.kinds.slice(0, 2), ["task", "statusUpdate"]);
assert(told.state === TaskState.TASK_STATE_COMPLETED && told.last && told.text !== "" && told.extra.length === 0);
assert.equal(told.task.contextId, sent.contextId);
held("stream");

const got = await there.getTask({ tenant: "", id: told.task.id });
assert.equal(got.artifacts.map((a) => text(a.parts)).join(""), told.text);
assert.equal(got.history.length, 2);
if (version === "1.0") {
	const list = await there.listTasks({ tenant: "", contextId: sent.contextId, status: TaskState.TASK_STATE_UNSPECIFIED, pageSize: 1, pageToken: "", includeArtifacts: false });
	assert.deepEqual([list.totalSize, list.tasks.map((t) => t.id), list.nextPageToken !== ""], [2, [told.task.id], true]);
}
held("get");

const begun = async () => {
	const events = client.sendMessageStream(message("Play some jazz"));
	const { value } = await events.next();
	assert.equal(value.payload.$case, "task");
	return [value.payload.value.id, listen(events)];
};
// On a busy machine a task may have ended before it is asked about: then another one is.
const whileItRuns = async (act) => {
	for (let n = 0; n < 20; n++) {
		const [id, first] = await begun();
		try {
			if (await act(id, first)) return;
		} catch (err) {
			if (!["UnsupportedOperationError", "TaskNotCancelableError"].includes(err.name)) throw err;
		}
		assert.equal((await first).state, TaskState.TASK_STATE_COMPLETED);
	}
	assert.fail("no task was still running");
};
await whileItRuns(async (id, first) => {
	const second = await listen(there.resubscribeTask({ tenant: "", id }));
	if (second.task.status.state === TaskState.TASK_STATE_COMPLETED) return false;
	assert.equal(second.kinds[0], "task");
	assert.deepEqual([second.state, second.text], [TaskState.TASK_STATE_COMPLETED, told.text]);
	assert.equal((await first).state, TaskState.TASK_STATE_COMPLETED);
	return true;
});
held("subscribe");
await whileItRuns(async (id, first) => {
	const stopped = await there.cancelTask({ tenant: "", id, metadata: undefined });
	if (stopped.status.state === TaskState.TASK_STATE_COMPLETED) return false;
	assert.equal(stopped.status.state, TaskState.TASK_STATE_CANCELED);
	assert.equal((await first).state, TaskState.TASK_STATE_CANCELED);
	return true;
});
held("cancel");

const asked = await listen(client.sendMessageStream(message("Turn it up")));
assert(asked.state === TaskState.TASK_STATE_INPUT_REQUIRED && asked.question === asked.text && asked.text !== "");
const replied = await listen(there.sendMessageStream(message("Play some jazz", { taskId: asked.task.id })));
assert.deepEqual([replied.task.id, replied.task.contextId, replied.state], [asked.task.id, asked.task.contextId, TaskState.TASK_STATE_COMPLETED]);
held("question");

const more = await listen(client.sendMessageStream(message("Play some jazz"), { serviceParameters: { "A2A-Extensions": extension, "X-A2A-Extensions": extension } }));
for (const name of ["route", "agent", "tool_call", "done"]) assert(more.extra.includes(name), `${name} in ${more.extra}`);
assert.equal(more.text, told.text);
held("extension");

await refused("TaskNotFoundError", there.getTask({ tenant: "", id: "task_00000000000000000000000000" }));
await refused("TaskNotCancelableError", there.cancelTask({ tenant: "", id: told.task.id, metadata: undefined }));
await refused("UnsupportedOperationError", listen(there.resubscribeTask({ tenant: "", id: told.task.id })));
await refused("UnsupportedOperationError", there.sendMessage(message("x", { taskId: told.task.id })));
const file = { parts: [{ content: { $case: "url", value: "https://example.com/a.png" }, metadata: undefined, filename: "", mediaType: "image/png" }] };
await refused("ContentTypeNotSupportedError", client.sendMessage(message("x", file)));
await refused("ContentTypeNotSupportedError", listen(client.sendMessageStream(message("x", file))));
held("refusals");
