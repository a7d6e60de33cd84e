// What a channel is sent, as it may look to the one who gets it: a phone's bubble, an
// e-mail in a frame without scripts, a card.

import { titleOfChannel as titleOf } from '../model/examples.js';
import { el, frame } from './dom.js';
import { prose } from './markdown.js';
import { marked } from './whatsapp.js';
import { counted, number, size } from '../words.js';

export function preview(/** @type {ChannelMessage} */ message) {
  const { channel, sequence, total } = message;
  const part = total > 1 ? `, part ${sequence} of ${total}` : '';
  return el('section', { class: 'message', 'data-testid': 'channel-message', 'data-channel': channel, 'aria-label': `${titleOf(channel)}${part}` },
    el('p', { class: 'message-head' }, el('b', {}, titleOf(channel)), part),
    body(message),
    el('p', { class: 'soft small', 'data-testid': 'counter' }, figures(message)));
}

function body(/** @type {ChannelMessage} */ message) {
  if (message.html !== undefined) return mail(message);
  if (message.card) return el('div', { class: 'adaptive' }, ...elements(message.card.body));
  return el('div', { class: 'phone', dir: 'auto' }, ...(message.channel === 'whatsapp' ? marked(message.content) : [message.content]));
}

function mail(/** @type {ChannelMessage} */ { subject, text, html }) {
  return el('div', { class: 'mail' },
    el('p', { dir: 'auto' }, el('span', { class: 'soft' }, 'Subject: '), subject),
    frame(html ?? '', `The e-mail: ${subject ?? ''}`),
    el('details', {}, el('summary', {}, 'As plain text'), el('pre', { dir: 'auto', tabindex: 0 }, text)));
}

/** @param {ChannelMessage} message  its own figures, if it has some */
function figures({ encoding, segments, units, chars, bytes, html, content_type }) {
  if (segments !== undefined) {
    const each = encoding === 'GSM-7' ? [160, 153] : [70, 67];
    const room = segments > 1 ? segments * each[1] : each[0];
    return `${counted(segments, 'segment')} · ${number(units ?? 0)} of ${number(room)} units · ${encoding}`;
  }
  if (chars !== undefined) return `${number(chars)} of 4,096 characters`;
  if (bytes !== undefined) return `${size(bytes)}, Adaptive Card`;
  return html === undefined ? content_type : `${content_type} · ${size(new TextEncoder().encode(html).length)} of HTML`;
}

/** @param {CardElement[] | undefined} list @returns {Node[]} */
const elements = (list) => (Array.isArray(list) ? list.map(element) : []);

/** One element of a card; of those that are not known, what is in them. @param {CardElement} node @returns {Node} */
function element(node) {
  const { type, style, inlines, items, body: inside } = node;
  switch (type) {
    case 'TextBlock': return block(node);
    case 'RichTextBlock': return el('pre', { dir: 'auto' }, (inlines ?? []).map((i) => (typeof i === 'string' ? i : i.text ?? '')).join(''));
    case 'Table': return table(node);
    default: return el('div', { class: style === 'emphasis' ? 'emphasis' : null }, ...elements(items ?? inside));
  }
}

/** A table, whose first row is its header unless the card says that it is none. @param {CardElement} node */
function table({ rows = [], firstRowAsHeaders = true }) {
  const lines = rows.map(({ cells = [] }, i) => {
    const isHeader = firstRowAsHeaders && i === 0;
    return el('tr', {}, ...cells.map(({ items }) => el(isHeader ? 'th' : 'td', { scope: isHeader ? 'col' : null }, ...elements(items))));
  });
  return el('div', { class: 'prose' }, el('div', { class: 'table', tabindex: 0, role: 'group', 'aria-label': 'Table' }, el('table', {}, el('tbody', {}, ...lines))));
}

function block(/** @type {CardElement} */ { text = '', style, weight }) {
  return prose({ class: style === 'heading' || weight === 'Bolder' ? 'prose strong' : 'prose', dir: 'auto' }, text);
}
