// The request of a turn: its ids, its body, and the same for a shell; and a trial of EventSource.

import { body } from '../wire/transport.js';
import { h } from '../view/h.js';
import { Copy, Facts } from '../view/icon.js';
import { trial } from '../view/state.js';
import { pretty } from '../words.js';

export function Request(/** @type {{ turn: Turn | null }} */ { turn }) {
  const record = turn?.record;
  const id = record?.requestId ?? '';
  return h('div', { 'data-testid': 'request' },
    h('label', { class: 'check' }, h('input', { type: 'checkbox', checked: trial.value, disabled: typeof EventSource === 'undefined', 'data-testid': 'eventsource', onChange: (/** @type {any} */ e) => { trial.value = e.currentTarget.checked; } }), 'Send by EventSource, for the next turn'),
    h('p', { class: 'soft small' }, 'A GET cannot bring the history along. Else there is no reason to choose it.'),
    record ? [
      h('h3', { key: 'ids' }, 'Ids'),
      h(Facts, { key: 'facts', of: [['Request', h('span', null, h('code', { 'data-testid': 'request-id' }, id || (turn?.isRunning ? 'not known yet' : 'not seen')), id ? h(Copy, { get: () => id, label: 'Copy the request id', testid: 'copy-request-id' }) : null)],
        .../** @type {[string, any][]} */ (record.turn ? [['Turn', h('code', null, record.turn)]] : []), .../** @type {[string, any][]} */ (record.task ? [['Task', h('code', null, record.task)]] : []), ['Sent by', record.via === 'fetch' ? 'POST, read by fetch' : 'GET, read by EventSource']] }),
      h('h3', { key: 'body' }, 'Body'), h('pre', { key: 'json', class: 'well', tabindex: 0, dir: 'auto' }, pretty(body(record.ask))),
      h('div', { key: 'curl', class: 'bar' }, h('h3', null, 'The same with curl'), h('span', { class: 'space' }), h(Copy, { get: () => record.curl(), label: 'Copy as curl', words: 'Copy as curl', testid: 'copy-curl' })),
      h('pre', { key: 'line', class: 'well', tabindex: 0, 'data-testid': 'curl' }, record.curl()),
    ] : h('p', { class: 'soft' }, turn ? 'Its request was sent before this page.' : 'No turn yet.'));
}
