// Runs turns and compares the rows that the page draws of each with its events. Reads {asks: [{name,
// base, turns, at, input, workflow, stored}]} from stdin; at: how many run at once. The rows come from
// the page's model layer: of the events alone, and with a store of the gateway's trace. Writes
// {name, rows, turns, faults} for each ask.
import { text } from 'node:stream/consumers';
import '../../../web/testdata/dom.mjs';

const { Parser } = await import('../../../web/wire/sse.js');
const { TurnRecord } = await import('../../../web/model/record.js');
const { traceOf } = await import('../../../web/model/steps.js');
const { rowsOf } = await import('../../../web/model/timeline.js');
const { dataOf } = await import('../../../web/wire/events.js');

const models = ['step', 'router', 'planner', 'judge', 'refinement', 'critic', 'structured'];
const receipts = { planner: 'plan', judge: 'judge', refinement: 'refine' };
const tokens = ['input_tokens', 'output_tokens', 'thinking_tokens'];
const slack = 2; // milliseconds: the times of a stored trace are whole

// stream sends a turn and returns its record, as the page keeps it.
async function stream(base, body, after) {
  const record = new TurnRecord(body, 'fetch');
  record.after = after;
  const reply = await fetch(`${base}/chat/stream`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
  if (!reply.ok) throw new Error(`${reply.status}: ${await reply.text()}`);
  const parser = new Parser();
  for await (const piece of reply.body.pipeThrough(new TextDecoderStream())) for (const frame of parser.push(piece)) record.take(frame);
  record.end('done');
  return record;
}

const datas = (record, event) => record.events.filter((e) => e.event === event).map((e) => dataOf(e.data));
const sum = (list) => Object.fromEntries(tokens.map((t) => [t, list.reduce((n, u) => n + (u?.[t] ?? 0), 0)]));
const same = (a, b) => tokens.every((t) => a[t] === b[t]);
const speaker = ({ step }) => [step?.session_id, step?.node_id, step?.agent].join(' ');

// grouped is Map.groupBy, which Node 20 lacks.
function grouped(list, key) {
  const groups = new Map();
  for (const item of list) groups.set(key(item), [...groups.get(key(item)) ?? [], item]);
  return groups;
}

// source reports whether an event or the receipt says that there was what a row stands for.
function source(row, records) {
  const some = (event, test = () => true) => records.some((r) => datas(r, event).some(test));
  const { call, step, kind } = row;
  if (call) return some('tool_call', (d) => d.call_id === call.call_id) || some('approval', (d) => d.calls?.some((c) => c.call_id === call.call_id));
  switch (kind) {
    case 'turn': return records.length > 0;
    case 'node': return some('node', (d) => d.node_id === step.node_id);
    case 'agent': return some('agent', (d) => d.agent_id === step.agent && (d.session_id ?? '') === (step.session_id ?? ''));
    case 'route': case 'approval': case 'model': return some(kind);
    case 'error': return some('error', (d) => !d.fatal);
    case 'allowed': return step.tool_calls.every((c) => some('approval', (d) => d.calls?.some((asked) => asked.call_id === c.call_id)));
    case 'call': return step.tool_calls.length > 0;
    case 'text': return some('response_delta') || some('inner_delta');
    case 'router': return some('route');
    case 'planner': case 'judge': case 'refinement': return records.some((r) => r.done.quality?.ms?.[receipts[kind]] > 0);
    case 'step': case 'critic': case 'structured': return true; // their number is compared with done
    default: return false;
  }
}

// check returns the faults of a trace of records; isStored: the gateway has recorded it.
function check(trace, records, isStored) {
  const rows = rowsOf(trace);
  const faults = [];
  const fault = (words, ...at) => faults.push(`${isStored ? 'stored' : 'own'}: ${words}: ${at.map((r) => `${r.name} ${r.from}+${r.ms} lane ${r.lane}/${r.lanes}`).join(' | ')}`);
  for (const row of rows) if (!source(row, records)) fault('a row without a source', row);
  // The gateway counts each call of a model in done, but for routers, critics and sub-agents.
  const asked = records.reduce((n, r) => n + (isStored || r === records.at(-1) ? r.done.timings.model_ms.length : 0), 0);
  const drawn = rows.filter((r) => !r.call && models.includes(r.kind));
  const counted = drawn.filter((r) => !r.step.session_id && !['router', 'critic'].includes(r.kind));
  if (isStored ? counted.length !== asked : counted.length > asked) fault(`${counted.length} rows of models, ${asked} were asked`, ...counted);
  // Tokens: each row its own, together those of the turn.
  const used = records.at(-1).done.usage;
  const own = drawn.map((r) => r.step.usage).filter(Boolean);
  if ((isStored || own.length > 0) && !same(sum(own), used)) fault(`rows used ${JSON.stringify(sum(own))}, done says ${JSON.stringify(used)}`, ...drawn);
  const parents = grouped(rows.filter((r) => r.lanes > 1), (r) => (r.call ? r.id.slice(0, r.id.lastIndexOf(':')) : r.step.parent_id ?? ''));
  for (const crowd of parents.values()) {
    for (const [i, a] of crowd.entries()) {
      for (const b of crowd.slice(i + 1)) {
        const isPart = (r) => r.call || r.kind === 'agent' || r.kind === 'node';
        if (a.lane !== b.lane && !(isPart(a) && isPart(b)) && speaker(a) === speaker(b)) fault('one agent at the same time as itself', a, b);
      }
    }
  }
  // A model reads the results before it answers.
  const speakers = grouped(rows.filter((r) => !r.call && ['step', 'allowed'].includes(r.kind)), speaker);
  for (const steps of speakers.values()) {
    const ordered = steps.toSorted((a, b) => a.from - b.from);
    for (const [i, row] of ordered.entries()) {
      if (i === 0) continue;
      const ends = rows.filter((r) => r.call && ordered[i - 1].step.id === r.step.id).map((r) => r.from + r.ms);
      if (row.from + slack < Math.max(0, ...ends)) fault(`a model asked before ${Math.max(...ends)}, when the results were there`, ordered[i - 1], row);
    }
  }
  return { faults, rows: rows.length };
}

async function turn({ base, input, workflow, agent, stored }, i) {
  const conversation_id = `conv_truth_${i}_${Math.random().toString(36).slice(2)}`;
  const records = [await stream(base, { input, conversation_id, ...(workflow ? { workflow } : {}), ...(agent ? { agent } : {}) }, null)];
  for (let asked = datas(records[0], 'approval'); asked.length > 0; asked = datas(records.at(-1), 'approval')) {
    records.push(await stream(base, { conversation_id, approval: { token: asked[0].token, action: i % 4 === 3 ? 'reject' : 'approve' } }, records.at(-1)));
  }
  const all = records.map((r) => check(traceOf(r), r.after ? [r.after, r] : [r], false));
  if (stored) {
    const reply = await fetch(`${base}/tasks/${records[0].task}/trace`);
    all.push(check(await reply.json(), records, true));
  }
  return { rows: all.reduce((n, c) => n + c.rows, 0), faults: all.flatMap((c) => c.faults) };
}

const { asks } = JSON.parse(await text(process.stdin));
await Promise.all(asks.map(async (ask) => {
  const queue = Array.from({ length: ask.turns }, (_, i) => i).values();
  const report = { name: ask.name, turns: 0, rows: 0, faults: [] };
  await Promise.all(Array.from({ length: ask.at }, async () => {
    for (const i of queue) {
      try {
        const { rows, faults } = await turn(ask, i);
        report.rows += rows;
        report.faults.push(...faults.map((f) => `turn ${i + 1}: ${f}`));
      } catch (e) {
        report.faults.push(`turn ${i + 1}: ${e.stack}`);
      }
      report.turns++;
    }
  }));
  console.log(JSON.stringify(report));
}));
