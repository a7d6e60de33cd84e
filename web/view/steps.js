// The work on an answer: one line, which opens to thoughts, calls, agents and nodes. A view that shows a
// part reads the version of its turn: a view with equal properties is else not drawn again.

import { useEffect, useMemo, useRef, useState } from '../vendor/hooks.js';
import { word } from '../model/tree.js';
import { workflows } from '../model/chat.js';
import { hasSteps, newest, summary } from '../model/line.js';
import { decided, duration, gist, number, phases, pretty, sentenceFor, short, states } from '../words.js';
import { Facts, Flow, Icon, Mount } from './icon.js';
import { h } from './h.js';
import { Prose } from './prose.js';

/** @type {WeakMap<object, string>} */
const keys = new WeakMap();
let last = 0;
/** A name for a part that stays as long as the part. @param {object} of */
const keyOf = (of) => keys.get(of) ?? (keys.set(of, `part-${++last}`), /** @type {string} */ (keys.get(of)));

export function Steps(/** @type {{ turn: Turn, workflow: string }} */ { turn, workflow }) {
  turn.version.value;
  const isFlow = turn.fold.turn.parts.some((p) => p.kind === 'graph');
  const [isOpen, setOpen] = useState(/** @type {boolean | null} */ (null)); // null: nobody has touched it
  const opened = isOpen ?? (isFlow && turn.isRunning);
  useEffect(() => { if (isOpen === null && isFlow) setOpen(true); }, [isFlow]); // it never closes by itself
  if (turn.isRunning && !hasSteps(turn.fold.turn)) return turn.answer ? null : h('p', { class: 'line-now', 'data-testid': 'now' }, h(Flow, {}), h('span', { class: 'live' }, newest(turn.fold.turn, turn.fold.begun || (turn.record?.events.length ?? 0) > 0)));
  if (!hasSteps(turn.fold.turn)) return null;
  const line = turn.isRunning ? newest(turn.fold.turn, true) : summary(turn.fold.turn, workflow);
  return h('div', { class: 'steps' },
    h('button', { type: 'button', class: 'steps-line', 'aria-expanded': String(opened), 'data-testid': 'steps', onClick: () => setOpen(!opened) },
      turn.isRunning ? h(Flow, {}) : h(Icon, { name: 'chevron-right', small: true }), h('span', { class: turn.isRunning ? 'live' : '' }, line)),
    opened ? h(Trail, { of: turn.fold.turn, turn, isTop: true }) : null);
}

function Trail(/** @type {{ of: Branch, turn: Turn, isTop?: boolean }} */ { of, turn, isTop = false }) {
  turn.version.value;
  const parts = isTop ? of.parts.filter((p) => !['text', 'message', 'approval'].includes(p.kind) && !(p.kind === 'fault' && p.fault.fatal)) : of.parts;
  return h('ul', { class: 'trail' }, parts.map((part) => h('li', { key: keyOf(part), class: `step-${part.kind}` }, h(Step, { part, turn }))));
}

/** @param {{ part: Part, turn: Turn }} props @returns {Child} */
function Step({ part, turn }) {
  turn.version.value;
  switch (part.kind) {
    case 'thoughts': return h(Thoughts, { part, turn });
    case 'text': return h(Text, { part, turn });
    case 'tool': return part.agent ? null : h(Call, { part, turn });
    case 'fork': return h(Fork, { fork: part, turn });
    case 'checks': return h(Checked, { checks: part, turn });
    case 'graph': return h(Graph, { turn });
    case 'change': return row('rotate-cw', `${part.model} answers in place of ${part.previous}`, part.reason.replaceAll('_', ' '), undefined, 'model-change');
    case 'route': return row('split', decided(part.route), part.route.reasoning ?? '', part.route.duration_ms, 'route');
    case 'fault': return h('div', { class: 'step-fault', 'data-testid': 'error', 'data-error-type': part.fault.error_type, 'data-fatal': String(part.fault.fatal) }, row('triangle-alert', sentenceFor(part.fault.error_type, part.fault.message), part.fault.message));
  }
  return null;
}

/** @param {string} icon @param {Child} name @param {string} [more] @param {number} [ms] @param {string} [testid] */
const row = (icon, name, more = '', ms, testid) => h('div', { class: 'step', 'data-testid': testid },
  h(Icon, { name: icon, small: true }), h('span', { dir: 'auto' }, name), more ? h('span', { class: 'soft', dir: 'auto' }, more) : null, ms === undefined ? null : h('span', { class: 'at' }, duration(ms)));

function Thoughts(/** @type {{ part: ThoughtsPart, turn: Turn }} */ { part, turn }) {
  turn.version.value;
  const [isOpen, setOpen] = useState(false);
  return h('details', { class: 'thoughts', 'data-testid': 'thoughts', open: isOpen, onToggle: (/** @type {any} */ e) => setOpen(e.currentTarget.open) },
    h('summary', { class: 'step' }, h(Icon, { name: 'lightbulb', small: true }), h('span', { dir: 'auto' }, gist(part.text))),
    isOpen ? h(Prose, { text: part.text, done: part.done, class: 'prose small' }) : null);
}

/** @param {{ part: TextPart, turn: Turn }} props  a text that is not the answer, or a copy of its part */
function Text({ part, turn }) {
  turn.version.value;
  const prose = h(Prose, { text: part.text, cuts: part.cuts, done: part.done, class: 'prose small' });
  if (part.role === '') return prose;
  return h('details', { class: 'thoughts' }, h('summary', { class: 'step' }, h(Icon, { name: 'chevron-right', small: true }), part.role === 'earlier' ? 'Earlier drafts' : 'Result', h('span', { class: 'soft', dir: 'auto' }, gist(part.text))), prose);
}

/** @type {Record<string, string>} */
const callStates = { in_progress: 'runs', progress: 'runs', completed: '', failed: 'did not work', unknown: 'its end is not known', client_required: 'for the client to run' };

function Call(/** @type {{ part: ToolPart, turn: Turn }} */ { part, turn }) {
  turn.version.value;
  const { call, lost, whole, notice } = part;
  const isDenied = call.error_type === 'approval_rejected';
  const state = lost ? callStates.unknown : isDenied ? 'not allowed' : callStates[call.status] ?? call.status;
  const result = whole || word(call.result);
  const error = call.status === 'failed' || call.status === 'unknown' ? notice?.message ?? call.error ?? '' : '';
  const far = call.status === 'progress' ? `${call.progress ?? 0}${call.total === undefined ? '' : ` of ${call.total}`}${call.message ? `: ${call.message}` : ''}` : '';
  return h('section', { class: 'call', 'data-testid': 'tool-card', 'data-tool': call.tool_name, 'data-status': lost ? 'unknown' : call.status, 'aria-label': `Call of ${short(word(call.tool_name))}` },
    h('div', { class: 'step' }, h(Icon, { name: 'wrench', small: true }), h('b', { class: 'mono' }, short(word(call.tool_name))), call.server ? h('span', { class: 'soft' }, `on ${short(word(call.server))}`) : null,
      state ? h('span', { class: error && !isDenied ? 'bad' : 'soft' }, state) : null, call.duration_ms === undefined ? null : h('span', { class: 'at' }, duration(call.duration_ms))),
    Object.keys(call.arguments ?? {}).length > 0 ? h('div', { class: 'well' }, h(Facts, { of: call.arguments })) : null,
    far ? h('p', { class: 'soft' }, h('progress', { 'aria-label': 'Progress of the tool', value: call.total ? String(Math.min(call.progress ?? 0, call.total)) : undefined, max: call.total ? String(call.total) : undefined }), ` ${far}`) : null,
    error && !isDenied ? h('p', { class: 'bad', dir: 'auto', 'data-testid': 'error', 'data-error-type': notice?.error_type ?? call.error_type, 'data-fatal': 'false' }, error) : null,
    call.status === 'completed' && result ? h(Folded, { text: pretty(result), cut: call.truncated === true && !whole }) : null);
}

/** A result, of which six lines are seen. @param {{ text: string, cut: boolean }} props */
export function Folded({ text, cut }) {
  const [isOpen, setOpen] = useState(false);
  const lines = text.split('\n');
  const isLong = lines.length > 6 || text.length > 600;
  return h('div', { class: 'result' }, h('pre', { class: 'well', tabindex: 0, dir: 'auto', 'data-testid': 'result' }, isOpen || !isLong ? text : `${lines.slice(0, 6).join('\n').slice(0, 600)}\n…`, cut ? '\n… cut here' : ''),
    isLong ? h('button', { type: 'button', class: 'plain', 'aria-expanded': String(isOpen), onClick: () => setOpen(!isOpen) }, isOpen ? 'Show less' : 'Show all') : null);
}

/** @type {Record<string, string>} */
const forkNames = { agent: 'Agents', node: 'Nodes of the workflow', delegate: 'Sub-agents', draft: 'Drafts' };

function Fork(/** @type {{ fork: ForkPart, turn: Turn }} */ { fork, turn }) {
  turn.version.value;
  return h('div', { class: 'fork', role: 'group', 'aria-label': forkNames[fork.what], 'data-testid': `${fork.what}s` }, fork.branches.map((b) => h(BranchRow, { key: keyOf(b), branch: b, turn })));
}

const quiet = ['done', 'skipped', 'next', 'struck', 'stopped'];

function BranchRow(/** @type {{ branch: Branch, turn: Turn }} */ { branch, turn }) {
  turn.version.value;
  const { name, type, kind, state, ms, note, task, parts } = branch;
  const [touched, setTouched] = useState(/** @type {boolean | null} */ (null));
  const isOpen = touched ?? !quiet.includes(state);
  const line = [kind === 'draft' ? note || 'not checked yet' : states.get(state), kind !== 'draft' && note].filter(Boolean).join(': ').slice(0, 300);
  const said = parts.findLast((p) => p.kind === 'text' && p.role !== 'earlier');
  return h('details', { class: 'branch', id: `branch-${turn.key}-${kind}-${branch.id.replace(/\W/g, '_')}`, 'data-kind': kind, 'data-state': state, 'data-testid': kind === 'draft' ? 'draft' : undefined, 'data-struck': state === 'struck' ? 'true' : undefined, open: isOpen, onToggle: (/** @type {any} */ e) => { if (e.currentTarget.open !== isOpen) setTouched(e.currentTarget.open); } },
    h('summary', { class: 'step', 'data-testid': kind === 'draft' ? undefined : kind }, h(Icon, { name: 'chevron-right', small: true }), h('b', { dir: 'auto', title: name.length > 80 ? name.slice(0, 1000) : undefined }, short(name)), h('span', { class: 'soft' }, type || (kind === 'delegate' ? 'sub-agent' : '')),
      h('span', { class: 'state' }, line), ms === undefined || !quiet.includes(state) ? null : h('span', { class: 'at' }, duration(ms)),
      isOpen ? null : h('span', { class: 'gist soft', dir: 'auto' }, gist(task.trim() || (said?.kind === 'text' ? said.text : '')))),
    isOpen ? h('div', { class: 'inside' }, task.trim() ? h('p', { class: 'soft', dir: 'auto' }, `Asked: ${task.slice(0, 5000)}`) : null, h(Trail, { of: branch, turn })) : null);
}

function Checked(/** @type {{ checks: ChecksPart, turn: Turn }} */ { checks, turn }) {
  turn.version.value;
  const { phases: all, open, passed, failed, receipt } = checks;
  /** @type {(Partial<Criterion> & { id: string })[]} */
  const criteria = receipt?.criteria ?? [...failed.map((id) => ({ id, passed: false })), ...passed.map((id) => ({ id, passed: true }))];
  return h('section', { class: 'checks', 'data-testid': 'scorecard', 'data-outcome': receipt?.outcome, 'aria-label': 'Checks' },
    row('list-checks', receipt && criteria.length > 0 ? `Checked: ${criteria.filter((c) => c.passed).length} of ${criteria.length}` : open ? 'Checking' : 'Checks', '', undefined, 'outcome'),
    h('ol', { class: 'phases', 'aria-label': 'Phases' }, all.map((p, i) => h('li', { key: String(i), 'data-phase': p.phase, 'data-failed': p.failed ? 'true' : undefined, 'aria-current': open && i === all.length - 1 ? 'step' : undefined },
      phases.get(p.phase) ?? p.phase, h('span', { class: 'soft' }, p.chars ? ` ${number(p.chars)} characters` : ` at ${duration(p.elapsed)}`)))),
    criteria.length > 0 ? h('ul', { class: 'criteria', 'aria-label': 'Criteria' }, criteria.map((c) => h('li', { key: c.id, 'data-testid': 'criterion', 'data-id': c.id, 'data-passed': String(c.passed ?? 'open') },
      h('code', null, c.id), ` ${c.passed === null || c.passed === undefined ? 'no verdict' : c.passed ? 'passed' : 'failed'}`, h('span', { class: 'soft' }, notesOf(c))))) : null,
    receipt ? h('p', { class: 'soft small' }, [outcomes[receipt.outcome] ?? receipt.outcome, receipt.ms.judge > 0 && `judge ${duration(receipt.ms.judge)}`, receipt.ms.held > 0 && `held for ${duration(receipt.ms.held)}`].filter(Boolean).join(' · ')) : null);
}

/** @type {Record<string, string>} */
const outcomes = {
  passed: 'Passed at once', refined: 'Passed after it was written again', sent_failed: 'Sent, though not all criteria passed', graceful_failure: 'Withheld: no attempt passed', unjudged: 'Not judged',
  observed: 'Checked afterwards', not_evaluated: 'Not checked',
};

function notesOf(/** @type {Partial<Criterion>} */ { by, must = true, planned, not_applicable: without, failed_first: first }) {
  const notes = [by === 'judge' && 'judged', planned && 'planned', without && 'not applicable', first && 'failed at first', !must && 'optional'].filter(Boolean);
  return notes.length > 0 ? ` (${notes.join(', ')})` : '';
}

/** The graph of a workflow, whose script comes when one runs. @param {{ turn: Turn }} props */
export function Graph({ turn }) {
  const graph = useRef(/** @type {import('./graph.js').Graph | null} */ (null));
  const make = useMemo(() => () => {
    const node = document.createElement('div');
    import('./graph.js').then(({ beginGraph }) => { graph.current = beginGraph(node, turn, workflows.peek()); }).catch(() => {}); // the rows have all of it, too
    return node;
  }, [turn]);
  turn.version.value; // draws again with the turn
  useEffect(() => { graph.current?.color(); });
  return h(Mount, { make });
}

