// The raw events of a turn. Each has a row; of a long run of one kind only the
// beginning has, and the rest share one, which opens in pages.

import { copyButton, el, set } from './dom.js';
import { dataOf, eventNames } from '../wire/events.js';
import { counted, duration, pretty, size } from '../words.js';

/** @typedef {import('../model/record.js').TurnRecord} TurnRecord */
/** @typedef {import('../types').Seen} Seen */
/** @typedef {{ event: string, head: number, node: HTMLDetailsElement | null, rest: Seen[], fresh: boolean }} Run */

const single = 12; // rows for a run of events of one kind
const page = 100; // events that a row of many shows at a time
const most = 500; // rows

export class Inspector {
  #rows = el('div', { class: 'rows' });
  #totals = el('p', { class: 'faint' });
  #filter = el('select', { 'aria-label': 'Kind of event' });
  /** @type {TurnRecord | null} */
  #record = null;
  #next = 0; // the first event without a row
  #hidden = 0; // events without a row because there are too many
  /** @type {Run | null} */
  #run = null;

  /** @param {HTMLElement} root */
  constructor(root) {
    for (const kind of ['', ...eventNames]) {
      this.#filter.append(el('option', { value: kind }, kind || 'all events'));
    }
    this.#filter.addEventListener('change', () => this.show(this.#record));
    const copy = copyButton('Copy all', () => this.#record?.transcript() ?? '', { 'data-testid': 'copy-events', title: 'Copy all events of the turn as text/event-stream' });
    set(root, el('div', { class: 'bar' }, this.#filter, copy), this.#totals, this.#rows);
  }

  /** The turn that is shown. */
  get record() { return this.#record; }

  /** @param {TurnRecord | null} record */
  show(record) {
    this.#record = record;
    this.#next = this.#hidden = 0;
    this.#run = null;
    set(this.#rows);
    this.draw();
  }

  /** Adds what has come since the last time. */
  draw() {
    const record = this.#record;
    if (!record) {
      this.#totals.textContent = 'No turn yet.';
      return;
    }
    const kind = this.#filter.value;
    for (; this.#next < record.events.length; this.#next++) {
      const seen = record.events[this.#next];
      if (!kind || seen.event === kind) this.#take(seen);
    }
    if (this.#run) relabel(this.#run);
    this.#totals.textContent = totals(record, this.#hidden);
  }

  /** @param {Seen} seen */
  #take(seen) {
    if (this.#run?.event !== seen.event) {
      if (this.#run) relabel(this.#run);
      this.#run = { event: seen.event, head: 0, node: null, rest: [], fresh: false };
    }
    const run = this.#run;
    if (run.head < single) {
      run.head++;
      this.#add(row(seen));
      return;
    }
    if (!run.node) {
      run.node = many(run);
      this.#add(run.node);
    }
    run.rest.push(seen);
    run.fresh = true;
  }

  /** @param {HTMLElement} node */
  #add(node) {
    if (this.#rows.childElementCount < most) this.#rows.append(node);
    else this.#hidden++;
  }
}

/** @param {TurnRecord} record @param {number} hidden */
function totals(record, hidden) {
  const parts = [counted(record.events.length, 'event'), size(record.bytes)];
  if (record.via === 'fetch') parts.push(counted(record.heartbeats, 'heartbeat'));
  if (hidden > 0) parts.push(`${counted(hidden, 'row')} not shown: choose a kind, or copy all`);
  return parts.join(' · ');
}

/**
 * The row of one event. Its data is only laid out when it is opened.
 * @param {Seen} seen
 */
function row(seen) {
  const node = el('details', { class: 'event', 'data-testid': 'event-row', 'data-event': seen.event },
    el('summary', {},
      el('span', { class: 'at' }, `+${duration(seen.at)}`),
      el('span', { class: 'kind' }, seen.event),
      el('span', { class: 'gist' }, gist(seen)),
      el('span', { class: 'bytes' }, size(seen.bytes))));
  node.addEventListener('toggle', () => {
    if (node.childElementCount > 1) return;
    node.append(el('p', { class: 'id' }, `id: ${seen.id || 'none'}`), el('pre', { tabindex: 0 }, pretty(seen.data)));
  });
  return node;
}

/** @type {Record<string, string>} the field that says what an event's status is of */
const whom = { tool_call: 'tool_name', node: 'node_id', agent: 'agent_id' };

/**
 * What distinguishes one event from the next of its kind.
 * @param {Seen} seen
 */
function gist(seen) {
  const data = dataOf(seen.data) ?? {};
  const first = (/** @type {string[]} */ ...names) => names.map((name) => data[name]).find((value) => typeof value === 'string');
  const what = first('delta', 'content', 'error_type', 'finish_reason', 'status', 'phase', 'decision', 'prompt', 'model');
  const whose = seen.event in whom ? first(whom[seen.event]) : undefined;
  return [whose, what === undefined ? '' : JSON.stringify(what.slice(0, 80))].filter(Boolean).join(' ').slice(0, 80);
}

/**
 * The row of all further events of a run.
 * @param {Run} run
 */
function many(run) {
  const list = el('div', { class: 'rows' });
  const more = el('button', { type: 'button', class: 'quiet' }, `Show ${page} more`);
  const node = el('details', { class: 'event many', 'data-testid': 'event-row', 'data-event': run.event, 'data-count': 0 }, el('summary'), list, more);
  const show = () => {
    const from = list.childElementCount;
    list.append(...run.rest.slice(from, from + page).map(row));
    more.hidden = list.childElementCount >= run.rest.length;
  };
  more.addEventListener('click', show);
  node.addEventListener('toggle', () => {
    if (node.open && list.childElementCount === 0) show();
  });
  return node;
}

/** @param {Run} run */
function relabel(run) {
  if (!run.node || !run.fresh) return;
  run.fresh = false;
  run.node.dataset.count = String(run.rest.length);
  const bytes = run.rest.reduce((sum, seen) => sum + seen.bytes, 0);
  set(run.node.children[0],
    el('span', { class: 'at' }, `+${duration(run.rest[0].at)}`),
    el('span', { class: 'kind' }, run.event),
    el('span', { class: 'gist' }, `${run.rest.length} more`),
    el('span', { class: 'bytes' }, size(bytes)));
}
