// The page: it runs one turn at a time and shows it in the conversation and in
// the panel beside it.

import { attribute, byId, el, say, set } from './dom.js';
import { examples } from './examples.js';
import { History } from './history.js';
import { House, offlineModel } from './house.js';
import { Inspector } from './inspector.js';
import { forget, recall, remember } from './memory.js';
import { showTurn } from './panel.js';
import { TurnRecord } from './record.js';
import { follow, pin, wide } from './scroll.js';
import { fitsAddress, listen, newKey, post } from './transport.js';
import { TurnView } from './turn.js';

/** @typedef {import('./types').Ask} Ask */
/** @typedef {import('./types').Via} Via */

const longest = 5000; // code points, as the gateway has it

const form = /** @type {HTMLFormElement} */ (byId('ask'));
const input = /** @type {HTMLTextAreaElement} */ (byId('input'));
const send = /** @type {HTMLButtonElement} */ (byId('send'));
const stop = /** @type {HTMLButtonElement} */ (byId('stop'));
const log = byId('log');
const inspector = new Inspector(byId('inspector'));
const house = new House((model) => offer(model === offlineModel));

/** @type {AbortController | null} of the turn under way */
let running = null;
/** @type {TurnRecord | null} the turn that the panel shows */
let chosen = null;
let conversation = newConversation();
const history = new History(); // of the conversation
let leaving = false; // the page is being left: what breaks off is not news

function newConversation() {
  return `conv_${newKey()}`;
}

/** @param {string} text @returns {Ask} */
function askOf(text) {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return { input: text, conversation_id: conversation, ...(zone && zone !== 'Etc/Unknown' ? { timezone: zone } : {}), ...history.field };
}

/** @param {Ask} ask @returns {Via} */
function viaFor(ask) {
  const wanted = new FormData(form).get('transport') === 'eventsource';
  return wanted && fitsAddress(ask) ? 'eventsource' : 'fetch';
}

/** @param {string} text */
async function runTurn(text) {
  if (running) return say('A turn is running. Stop it first.');
  const ask = askOf(text);
  const record = new TurnRecord(ask, viaFor(ask));
  const view = addTurn(record);
  choose(record);
  const draw = eachFrame(() => {
    view.draw();
    if (chosen === record) inspector.draw();
    follow();
  });
  running = new AbortController();
  remember({ input: text, id: record.requestId });
  compose();
  const run = record.via === 'fetch' ? post : listen;
  const identified = () => {
    remember({ input: text, id: record.requestId });
    if (chosen === record) showTurn(byId('turn-panel'), record);
  };
  const outcome = await run(ask, {
    opened(requestId) { // a browser may throw events away that it has, but not this
      record.requestId = requestId;
      identified();
    },
    frame(frame) {
      const data = record.take(frame);
      if (data) view.show(frame.event, data);
      if (frame.event === 'start') identified();
      draw();
    },
    comments(count) { record.heartbeats = count; },
  }, running.signal);
  if (leaving) return;
  running = null;
  forget();
  if (ask.conversation_id === conversation) history.add(record);
  view.end(outcome);
  if (chosen === record) choose(record);
  follow();
  compose();
  house.refresh();
}

/**
 * Makes calls that come in crowds into one before the next picture.
 * @param {() => void} draw
 */
function eachFrame(draw) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      draw();
    });
  };
}

/** @param {TurnRecord} record */
function addTurn(record) {
  const view = new TurnView(record, {
    again: (text) => runTurn(text),
    edit(text) {
      input.value = text;
      compose();
      input.focus();
    },
    inspect() {
      choose(record);
      const panel = /** @type {HTMLDetailsElement} */ (byId('turn-section'));
      panel.open = true;
      panel.querySelector('summary')?.focus();
    },
  });
  if (byId('empty').contains(document.activeElement)) log.focus({ preventScroll: true }); // what had it goes
  byId('empty').hidden = true;
  byId('turns').append(view.node);
  pin();
  return view;
}

/** @param {TurnRecord | null} record */
function choose(record) {
  if (chosen !== record || !record || record.events.length === 0) inspector.show(record);
  else inspector.draw();
  chosen = record;
  showTurn(byId('turn-panel'), record);
}

// The composer

/** Brings buttons and hint in line with what is running and written. */
function compose() {
  const count = Array.from(input.value.trim()).length;
  send.disabled = running !== null || count === 0 || count > longest;
  if (!running && document.activeElement === stop) input.focus();
  stop.hidden = running === null;
  byId('hint').textContent = hint(count);
}

/** @param {number} count */
function hint(count) {
  if (count > longest) return `${count} characters: at most ${longest} can be sent.`;
  if (running) return 'A turn is running. You can write the next one; Esc stops this one.';
  if (viaChosen() === 'eventsource' && !fitsAddress(askOf(input.value))) return 'Too long for the address of an EventSource: it will be sent with fetch.';
  if (viaChosen() === 'eventsource' && !history.empty) return 'An EventSource sends no history: this turn will stand alone.';
  return 'Enter sends, Shift+Enter breaks the line.';
}

const viaChosen = () => new FormData(form).get('transport');

form.addEventListener('submit', (event) => {
  event.preventDefault();
  compose();
  if (send.disabled) return;
  const text = input.value;
  input.value = '';
  runTurn(text);
});
form.addEventListener('input', compose);
input.addEventListener('keydown', (event) => {
  // 229 is the Enter that ends a composition in browsers that report it late.
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing || event.keyCode === 229) return;
  event.preventDefault();
  form.requestSubmit();
});
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') halt();
});
stop.addEventListener('click', halt);

function halt() {
  if (!running) return;
  running.abort();
  input.focus();
}

/** @param {boolean} isOffline */
function offer(isOffline) {
  const list = byId('examples');
  if (list.dataset.offline === String(isOffline)) return;
  list.dataset.offline = String(isOffline);
  set(list, ...examples(isOffline).map(({ title, prompt }) => {
    const button = el('button', { type: 'button', class: 'example', 'data-testid': 'example' }, el('b', {}, title), el('span', {}, prompt));
    button.addEventListener('click', () => runTurn(prompt));
    return el('li', {}, button);
  }));
}

byId('new').addEventListener('click', () => {
  halt();
  conversation = newConversation();
  history.clear();
  compose();
  set(byId('turns'));
  byId('empty').hidden = false;
  choose(null);
  input.focus();
});

addEventListener('pagehide', () => { leaving = true; });
addEventListener('pageshow', (event) => {
  leaving = false;
  if (event.persisted && running) location.reload();
});

// The theme

const theme = /** @type {HTMLSelectElement} */ (byId('theme'));
theme.value = document.documentElement.dataset.theme ?? 'system';
theme.addEventListener('change', () => {
  attribute(document.documentElement, 'data-theme', theme.value === 'system' ? null : theme.value);
  try {
    localStorage.setItem('sluice.theme', theme.value);
  } catch {
    // It holds until the page is left.
  }
});

// On a narrow screen the panel is below, and folded.
if (!wide.matches) for (const section of document.querySelectorAll('#panel > details')) section.removeAttribute('open');
choose(null);
const cut = recall();
if (cut) addTurn(new TurnRecord(askOf(cut.input), 'fetch')).reloaded(cut.id); // told, and not run again
compose();
house.refresh();
