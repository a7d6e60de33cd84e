// The events of a turn as they came. Of a long run of one kind all but the first share one row, which
// opens in pages.

import { useState } from '../vendor/hooks.js';
import { dataOf, eventNames } from '../wire/events.js';
import { h } from '../view/h.js';
import { Copy } from '../view/icon.js';
import { counted, duration, pretty, size } from '../words.js';

const single = 5; // rows for a run of events of one kind
const page = 100; // events that the row of a run shows at a time
const most = 500; // rows

export function Events(/** @type {{ turn: Turn | null }} */ { turn }) {
  const [kind, setKind] = useState('');
  const [text, setText] = useState('');
  const record = turn?.record;
  if (!record) return h('p', { class: 'soft' }, turn ? 'Its events came before this page.' : 'No turn yet.');
  const fitting = record.events.filter((e) => (!kind || e.event === kind) && (!text || e.data.includes(text)));
  const rows = grouped(fitting);
  const totals = [counted(record.events.length, 'event'), size(record.bytes), record.via === 'fetch' && counted(record.heartbeats, 'heartbeat'), rows.length > most && `${counted(rows.length - most, 'row')} not shown`].filter(Boolean);
  return h('div', { 'data-testid': 'inspector' },
    h('div', { class: 'bar' }, h('select', { 'aria-label': 'Kind of event', value: kind, onChange: (/** @type {any} */ e) => setKind(e.currentTarget.value) }, ['', ...eventNames].map((name) => h('option', { key: name, value: name }, name || 'All events'))),
      h('input', { type: 'search', 'aria-label': 'Text in events', placeholder: 'Text', value: text, onInput: (/** @type {any} */ e) => setText(e.currentTarget.value) }), h(Copy, { get: () => record.transcript(), label: 'Copy all events as an event stream', words: 'Copy all', testid: 'copy-events' })),
    h('p', { class: 'soft small' }, totals.join(' · ')),
    h('div', { class: 'event-rows' }, rows.slice(0, most).map((run, i) => (run.length === 1 ? h(EventRow, { key: String(i), seen: run[0] }) : h(Run, { key: String(i), run })))));
}

/** One list for each row. @param {Seen[]} events @returns {Seen[][]} */
function grouped(events) {
  /** @type {Seen[][]} */
  const rows = [];
  let count = 0;
  for (const [i, seen] of events.entries()) {
    count = events[i - 1]?.event === seen.event ? count + 1 : 1;
    if (count > single + 1) rows[rows.length - 1].push(seen);
    else rows.push([seen]);
  }
  return rows;
}

/** @param {Seen} seen @param {number} [more] */
const head = (seen, more = 0) => [h('span', { key: 'at', class: 'at' }, `+${duration(seen.at)}`), h('span', { key: 'kind', class: 'kind' }, seen.event), h('span', { key: 'gist', class: 'gist' }, more > 0 ? `${more} more` : gistOf(seen)), h('span', { key: 'size', class: 'size' }, more > 0 ? '' : size(seen.bytes))];

function EventRow(/** @type {{ seen: Seen }} */ { seen }) {
  const [isOpen, setOpen] = useState(false);
  return h('details', { class: 'event', 'data-testid': 'event-row', 'data-event': seen.event, open: isOpen, onToggle: (/** @type {any} */ e) => setOpen(e.currentTarget.open) }, h('summary', null, head(seen)),
    isOpen ? [h('p', { key: 'id', class: 'soft' }, `id: ${seen.id || 'none'}`), h('pre', { key: 'data', class: 'well', tabindex: 0 }, pretty(seen.data))] : null);
}

function Run(/** @type {{ run: Seen[] }} */ { run }) {
  const [isOpen, setOpen] = useState(false);
  const [count, setCount] = useState(page);
  return h('details', { class: 'event many', 'data-testid': 'event-row', 'data-event': run[0].event, 'data-count': run.length, open: isOpen, onToggle: (/** @type {any} */ e) => { if (e.target === e.currentTarget) setOpen(e.currentTarget.open); } }, h('summary', null, head(run[0], run.length)),
    isOpen ? [run.slice(0, count).map((seen, i) => h(EventRow, { key: String(i), seen })), run.length > count ? h('button', { key: 'more', type: 'button', onClick: () => setCount(count + page) }, `Show ${page} more`) : null] : null);
}

/** @type {Record<string, string>} the member that names whose status an event has */
const whose = { tool_call: 'tool_name', node: 'node_id', agent: 'agent_id' };

/** The difference of an event to the next of its kind. @param {Seen} seen */
function gistOf(seen) {
  const data = dataOf(seen.data) ?? {};
  const first = (/** @type {string[]} */ ...names) => names.map((name) => data[name]).find((value) => typeof value === 'string');
  const text = first('delta', 'content', 'error_type', 'finish_reason', 'status', 'phase', 'decision', 'prompt', 'model');
  return [seen.event in whose ? first(whose[seen.event]) : undefined, text === undefined ? '' : JSON.stringify(text.slice(0, 80))].filter(Boolean).join(' ').slice(0, 80);
}
