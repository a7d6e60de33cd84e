// Answers questions of a gateway over A2A with @a2a-js/sdk, as a client would. Prints what
// held, a line each.
//
//	a2a_approvals.mjs BASE CARD_PATH BINDING VERSION
//
// The gateway asks before it changes the todo list. What does not hold is thrown, as is
// whatever the SDK throws.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { Role, TaskState } from "@a2a-js/sdk";
import { ClientFactory, ClientFactoryOptions, JsonRpcTransportFactory, RestTransportFactory } from "@a2a-js/sdk/client";

const [base, path, binding, version] = process.argv.slice(2);
const held = (name) => console.log(name);

const part = ($case, value) => ({ content: { $case, value }, metadata: undefined, filename: "", mediaType: "" });
const request = (content, taskId = "") => ({
	tenant: "", metadata: undefined, configuration: undefined,
	message: { messageId: randomUUID(), role: Role.ROLE_USER, contextId: "", taskId, parts: [content], metadata: undefined, extensions: [], referenceTaskIds: [] },
});
const said = (text, taskId) => request(part("text", text), taskId);
const answered = (answer, taskId) => request(part("data", { approval: answer }), taskId);

const text = (parts) => (parts ?? []).map((p) => (p.content?.$case === "text" ? p.content.value : "")).join("");
const answerOf = (task) => task.artifacts.map((a) => text(a.parts)).join("");

// asked returns the question of a status.
function asked(status) {
	assert.equal(status.state, TaskState.TASK_STATE_INPUT_REQUIRED);
	const [words, data] = status.message.parts;
	assert.equal(text([words]), "Allow the call of create_todo?");
	assert.equal(data.content.$case, "data");
	return data.content.value.approval;
}

// last returns what a stream told: the task, its last status, and the answer.
async function last(events) {
	let task, status, answer = "";
	for await (const { payload } of events) {
		const ev = payload.value;
		if (payload.$case === "task") [task, status, answer] = [ev, ev.status, answerOf(ev)];
		else if (payload.$case === "artifactUpdate") answer += text(ev.artifact.parts);
		else status = ev.status;
	}
	return { task, status, answer };
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
const card = await (await fetch(base + path)).json();
card.supportedInterfaces = card.supportedInterfaces.filter((i) => i.protocolBinding === binding && i.protocolVersion === version);
const client = await factory.createFromAgentCard(card);

const eggs = await last(client.sendMessageStream(said("Remind me to buy eggs")));
const question = asked(eggs.status);
assert(question.calls[0].arguments.title === "buy eggs" && question.token);
held("asked");

const shown = asked((await client.getTask({ tenant: "", id: eggs.task.id })).status);
assert.deepEqual([shown.approval_id, shown.token], [question.approval_id, undefined]);
held("shown");

await refused("RequestMalformedError", client.sendMessage(said("Yes, please", eggs.task.id)));
held("refused");

const approved = await client.sendMessage(said("approve", eggs.task.id));
assert.equal(approved.status.state, TaskState.TASK_STATE_COMPLETED);
assert.match(answerOf(approved), /buy eggs/);
held("approve");

await refused("UnsupportedOperationError", client.sendMessage(said("approve", eggs.task.id)));
held("once");

const milk = await client.sendMessage(said("Remind me to buy milk"));
asked(milk.status);
const rejected = await last(client.sendMessageStream(answered({ action: "reject", message: "Not today." }, milk.id)));
assert.equal(rejected.status.state, TaskState.TASK_STATE_COMPLETED);
assert.match(rejected.answer, /couldn't add/);
held("reject");

const tea = await last(client.sendMessageStream(said("Remind me to buy tea")));
const [{ call_id }] = asked(tea.status).calls;
const modified = await last(client.sendMessageStream(answered({ calls: [{ call_id, action: "modify", arguments: { title: "buy coffee" } }] }, tea.task.id)));
assert.equal(modified.status.state, TaskState.TASK_STATE_COMPLETED);
assert.match(modified.answer, /coffee/);
held("modify");
