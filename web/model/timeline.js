// The trace of a task as rows on one line of time. Nothing here is drawn.

// A gap that is longer is drawn short. Within a turn a model may think a while before it
// says something; between turns nothing works.
const within = { least: 10_000, share: 0.5 }; // of the time in which something was told
const between = { least: 1000, share: 0.25 };
// How much of the width each gap takes, and all of them.
const narrow = 0.08;
const narrowest = 0.4;

/** @param {Trace} trace @param {string} [asked]  what the one turn of it was asked @returns {Row[]} in the order in which they are read */
export function rowsOf(trace, asked) {
  const known = new Map((trace.steps ?? []).toReversed().map((s) => [s.id, s])); // of two the first
  /** @type {Map<string, TraceStep[]>} */
  const below = new Map();
  for (const s of [...known.values()].reverse()) {
    const parent = s.parent_id && known.has(s.parent_id) ? s.parent_id : '';
    below.set(parent, [...below.get(parent) ?? [], s]);
  }
  /** @type {Row[]} */
  const rows = [];
  let turns = 0;
  const named = asked && [...known.values()].filter((s) => s.step_name === 'turn').length === 1;
  const walk = (/** @type {string} */ parent, /** @type {number} */ level) => {
    const made = (below.get(parent) ?? []).map((step) => stepRow(step, level, step.step_name === 'turn' ? ++turns : 0));
    lay(made, speakerOf);
    for (const row of made) {
      if (named && row.kind === 'turn') row.name = asked;
      rows.push(row);
      const before = rows.length;
      const calls = (row.step?.tool_calls ?? []).map((call, i) => callRow(call, `${row.id}:${i}`, level + 1, row));
      lay(calls, () => '');
      rows.push(...calls);
      walk(row.id, level + 1);
      row.parent = rows.length > before;
    }
  };
  walk('', 1);
  return rows;
}

/** @type {Record<string, string>} */
const names = {
  route: 'Routing', step: 'Model', allowed: 'Tools allowed', call: 'Call', text: 'Text', router: 'Model, as router', planner: 'Model, as planner', judge: 'Model, as judge', refinement: 'Model, as reviser',
  critic: 'Model, as critic', structured: 'Model, for the form', approval: 'Question to a person', model: 'Another model answers', error: 'A failure',
};

/** @param {TraceStep} s @param {number} turn  its number @returns {string} */
function nameOf(s, turn) {
  if (s.step_name === 'turn') return `Turn ${turn}`;
  if (s.step_name === 'node') return `Node ${s.node_id ?? ''}`;
  if (s.step_name === 'agent') return `${s.session_id ? 'Sub-agent' : 'Agent'} ${s.agent ?? ''}`;
  return names[s.step_name] ?? s.step_name;
}

/** @param {TraceStep} s @param {number} level @param {number} turn @returns {Row} */
function stepRow(s, level, turn) {
  const word = wordOf(s);
  const isBad = word !== 'stopped' && (s.status === 'warning' || s.status === 'error'); // what a person has stopped is as it should be
  return {
    id: s.id, kind: s.step_name, name: nameOf(s, turn), level, from: s.started_ms, ms: s.duration_ms ?? 0, open: s.duration_ms === undefined, isMeasured: s.is_guess !== true,
    status: isBad ? /** @type {'warning' | 'error'} */ (s.status) : '', word, lane: 0, lanes: 0, parent: false, step: s, call: null,
  };
}

// Questions of the gateway's own to a model.
const asks = ['router', 'planner', 'judge', 'refinement', 'critic', 'structured'];

const kinds = ['agent', 'tool', 'condition', 'human', ''];

/** Why a step is not as it should be. @param {TraceStep} s */
function wordOf(s) {
  if (s.step_name === 'node' && s.message === 'waiting') return 'waits';
  if (s.step_name === 'node' && s.message === 'skipped') return 'skipped';
  if (['turn', 'node', 'agent'].includes(s.step_name) && s.message.startsWith('cancelled')) return 'stopped';
  if (s.status === 'error') return 'failed';
  if (s.status !== 'warning') return '';
  const lost = (s.tool_calls ?? []).some((c) => c.outcome === 'failed' || c.outcome === 'unknown');
  if (['turn', 'step', 'allowed', 'call', 'text'].includes(s.step_name)) return lost ? 'a call failed' : 'cut';
  if (asks.includes(s.step_name)) return 'failed';
  if (s.step_name === 'node') return s.message === 'turn_lost' || kinds.includes(s.message) ? 'cut' : 'failed';
  if (s.step_name === 'agent') return ['primary', 'additional', 'fallback', 'delegate'].includes(s.message) ? 'cut' : 'failed';
  return 'warning';
}

/** @type {Record<string, ['' | 'warning' | 'error', string]>} */
const outcomes = {
  completed: ['', ''], cached: ['', 'from the cache'], failed: ['error', 'failed'], unknown: ['warning', 'outcome not known'], waiting: ['', 'waits'],
};

/** @param {TraceCall} c @param {string} id @param {number} level @param {Row} within @returns {Row} */
function callRow(c, id, level, within) {
  // Of a step that has ended a call that still runs was cut.
  const runs = c.outcome === 'running' && (c.runs === true || within.open);
  const [status, word] = outcomes[c.outcome] ?? (runs ? ['', 'runs'] : ['warning', 'cut']);
  const open = c.duration_ms === undefined && runs;
  return {
    id, kind: 'tool', name: c.tool, level, from: c.started_ms ?? within.from, ms: c.duration_ms ?? 0, open, isMeasured: open || c.duration_ms !== undefined || c.outcome === 'waiting',
    status, word, lane: 0, lanes: 0, parent: false, step: within.step, call: c,
  };
}

const endOf = (/** @type {Row} */ row) => row.from + row.ms;

/** Rows of one speaker follow one another: one agent asks its model again when it has read the results. @param {Row} row */
function speakerOf({ kind, step }) {
  if (kind === 'node' || kind === 'agent') return '';
  return `${step?.session_id ?? ''} ${step?.node_id ?? ''} ${step?.agent ?? ''}`;
}

/** Gives rows that worked at the same time a lane each. @param {Row[]} rows  of one parent, in the order of their begins @param {(row: Row) => string} speaker  '': the row is its own */
function lay(rows, speaker) {
  /** @type {Row[]} */
  let crowd = [];
  /** @type {{ end: number, speaker: string }[]} */
  let lanes = [];
  const close = () => {
    if (lanes.length > 1) for (const row of crowd) row.lanes = lanes.length;
    else for (const row of crowd) row.lane = 0;
    [crowd, lanes] = [[], []];
  };
  for (const row of [...rows].sort((a, b) => a.from - b.from)) {
    if ((row.ms === 0 && !row.open) || row.kind === 'wait') continue; // it was but a moment
    if (crowd.length > 0 && row.from >= Math.max(...lanes.map((l) => l.end))) close();
    const who = speaker(row);
    let lane = lanes.findIndex((l) => (who !== '' && l.speaker === who) || l.end <= row.from);
    if (lane < 0) lane = lanes.push({ end: 0, speaker: who }) - 1;
    lanes[lane] = { end: Math.max(lanes[lane].end, row.open ? Infinity : endOf(row)), speaker: who };
    row.lane = lane + 1;
    crowd.push(row);
  }
  close();
}

/** Where on the line a time is. What nobody has to look at is drawn short. @param {Row[]} rows @returns {Scale} */
export function scaleOf(rows) {
  const end = Math.max(1, ...rows.map(endOf));
  const busy = spans(rows.filter((r) => !r.parent));
  const told = busy.reduce((sum, [from, to]) => sum + to - from, 0);
  const turns = spans(rows.filter((r) => r.level === 1));
  /** @type {Gap[]} */
  const gaps = [];
  let last = 0;
  for (const [from, to] of [...busy, [end, end]]) {
    // A gap may lie within a turn, between two, or begin in one and end in another.
    for (const gap of parted(last, from, turns)) {
      const { least, share } = gap.inside ? within : between;
      if (gap.to - gap.from > Math.max(least, told * share)) gaps.push(gap);
    }
    last = Math.max(last, to);
  }
  const whole = gaps.reduce((sum, g) => sum - (g.to - g.from), end);
  const each = Math.min(narrow, narrowest / Math.max(1, gaps.length)) * Math.max(1, whole);
  const total = Math.max(1, whole) + gaps.length * each;
  return {
    gaps, end,
    at(ms) {
      let x = Math.min(Math.max(ms, 0), end);
      for (const { from, to } of gaps) {
        if (ms <= from) break;
        const part = Math.min(1, (ms - from) / (to - from));
        x -= part * (to - from - each);
      }
      return Math.min(100, (x / total) * 100);
    },
  };
}

/** @param {number} from @param {number} to @param {number[][]} turns @returns {Gap[]} */
function parted(from, to, turns) {
  const edges = [from, ...turns.flat().filter((t) => t > from && t < to), to];
  return edges.slice(1).map((edge, i) => ({ from: edges[i], to: edge, inside: turns.some(([a, b]) => a <= edges[i] && edge <= b) }));
}

/** The times that rows cover together. @param {Row[]} rows @returns {number[][]} */
function spans(rows) {
  /** @type {number[][]} */
  const list = [];
  for (const [from, to] of rows.map((r) => [r.from, endOf(r)]).sort((a, b) => a[0] - b[0])) {
    const last = list.at(-1);
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else list.push([from, to]);
  }
  return list;
}

/** The rows with one for each gap, where it was. @param {Row[]} rows @param {Scale} scale @returns {Row[]} */
export function withGaps(rows, { gaps }) {
  const all = [...rows];
  for (const { from, to, inside } of gaps) {
    let before = all.findIndex((r) => r.kind !== 'wait' && r.from >= to && r.level <= 2);
    if (before < 0) before = all.length;
    const asked = !inside && all.slice(0, before).findLast((r) => r.kind === 'approval' || r.level === 1)?.kind === 'approval';
    all.splice(before, 0, {
      id: `wait:${from}`, kind: 'wait', name: asked ? 'Waited for a person' : 'Nothing happened', level: inside ? 2 : 1, from, ms: to - from,
      open: false, isMeasured: true, status: '', word: '', lane: 0, lanes: 0, parent: false, step: null, call: null,
    });
  }
  return all;
}
