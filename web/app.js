// The page: it runs one turn at a time and shows it in the conversation and in
// the panel beside it.

import { spoken } from './approval.js';
import { ChannelPicker } from './channel.js';
import { CredentialField, isShown } from './credential.js';
import { attribute, byId, el, say, set } from './dom.js';
import { Examples } from './examples.js';
import { Inbox } from './inbox.js';
import { Inspector } from './inspector.js';
import { Lookup } from './lookup.js';
import { recall } from './memory.js';
import { showTurn } from './panel.js';
import { TurnRecord } from './record.js';
import { Follower, wide } from './scroll.js';
import { Session } from './session.js';
import { StatusPanel } from './status.js';
import { fitsAddress } from './transport.js';
import { TurnView } from './turn.js';
import { waits } from './waits.js';

/** @typedef {import('./types').Ask} Ask */
/** @typedef {import('./types').Via} Via */

const longest = 5000; // code points, as the gateway has it

const form = /** @type {HTMLFormElement} */ (byId('ask'));
const input = /** @type {HTMLTextAreaElement} */ (byId('input'));
const send = /** @type {HTMLButtonElement} */ (byId('send'));
const stop = /** @type {HTMLButtonElement} */ (byId('stop'));
const log = byId('log');
const inspector = new Inspector(byId('inspector'));
const picker = new ChannelPicker();
const lookup = new Lookup();
const inbox = new Inbox((card, answer, address) => decide(null, card, answer, address));
const cards = new Examples((prompt) => runTurn(prompt));
const gateway = new StatusPanel((known) => cards.know(known), async ({ approvals }, getJSON) => {
  if (gateway.asksWho) door.show();
  const me = isShown() ? await getJSON('me') : null;
  if (me?.scopes) door.known(me);
  lookup.offer(gateway.keeps);
  const list = await getJSON('channels');
  picker.offer(list?.channels ?? [], list?.quality?.drafts);
  const workflows = (await getJSON('workflows'))?.workflows ?? [];
  picker.offerWorkflows(workflows);
  cards.know({ channels: list?.channels ?? [], workflows });
  const decides = approvals ?? me?.scopes?.includes('approve') ?? false;
  inbox.show(decides, decides ? await inbox.read(getJSON, Boolean(me?.user)) : []);
});
const door = new CredentialField(() => gateway.refresh());
inbox.asks = () => gateway.refresh();
const conversation = new Follower();
const session = new Session(begin, () => gateway.keeps, () => picker.fields);

/** @param {Ask} ask @returns {Via} */
const viaFor = (ask) => (!ask.workflow && viaChosen() === 'eventsource' && fitsAddress(ask) ? 'eventsource' : 'fetch');

/** @param {string} text */
async function runTurn(text) {
  if (session.running) return say('A turn is running. Stop it first.');
  const ask = session.ask(text);
  const run = session.run(ask, viaFor(ask));
  compose();
  await run;
}

/**
 * Goes on with a turn that waits. An answer that is not taken can be given again.
 * @param {TurnRecord | null} waiting  null: it is not of this page
 * @param {import('./approval.js').ApprovalCard} card @param {import('./types').Answer} answer @param {import('./types').Address} address
 */
async function decide(waiting, card, answer, address) {
  if (session.running) {
    say('A turn is running. Stop it first.');
    card.reopen();
    return;
  }
  const ask = { input: spoken(answer, card.approval), conversation_id: waiting?.ask.conversation_id ?? '', approval: { ...address, ...answer } };
  const run = session.run(ask, 'fetch', waiting);
  compose();
  await run;
  if (last?.state !== 'refused' || last.after !== waiting) return;
  if (last.status === 422) card.reopen();
  else if (taken[last.status]) card.close(taken[last.status]);
}

/** @type {Record<number, string>} by status: why a question has no use for another answer */
const taken = { 403: 'It is not for you to answer.', 409: 'Somebody has answered before.', 410: 'It came too late.' };

/** @type {TurnRecord | null} the last turn that was sent */
let last = null;

/**
 * Shows a turn that is about to be sent.
 * @param {TurnRecord} record
 * @returns {import('./session.js').View}
 */
function begin(record) {
  last = record;
  const view = addTurn(record);
  const isChosen = () => inspector.record === record;
  choose(record);
  return {
    identified() {
      if (isChosen()) showTurn(byId('turn-panel'), record);
    },
    show(event, data) {
      if (event === 'start' && data.task_id) gateway.keeps = true;
      if (event === 'approval') waits(record.ask.conversation_id);
      view.show(event, data);
    },
    interrupted() {
      view.interrupted();
      gateway.refresh(); // it may be gone
    },
    changed: eachFrame(() => {
      view.draw();
      if (isChosen()) inspector.draw();
      conversation.follow();
    }),
    end(outcome) {
      view.end(outcome);
      if (isChosen()) choose(record);
      conversation.follow();
      compose();
      if (record.status === 401) door.focus();
      gateway.refresh();
    },
  };
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
    decide: (card, answer) => decide(record, card, answer, { token: card.approval.token }),
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
  if (byId('empty').contains(document.activeElement)) log.focus({ preventScroll: true }); // the focused element is about to be hidden
  byId('empty').hidden = true;
  byId('turns').append(view.node);
  conversation.pin();
  return view;
}

/** @param {TurnRecord | null} record */
function choose(record) {
  if (inspector.record !== record || !record || record.events.length === 0) inspector.show(record);
  else inspector.draw();
  showTurn(byId('turn-panel'), record);
}

// The composer

/** Brings buttons and hint in line with what is running and written. */
function compose() {
  const count = Array.from(input.value.trim()).length;
  send.disabled = session.running || count === 0 || count > longest;
  if (!session.running && document.activeElement === stop) input.focus();
  stop.hidden = !session.running;
  byId('hint').textContent = hint(count);
}

/** @param {number} count */
function hint(count) {
  if (count > longest) return `${count} characters: at most ${longest} can be sent.`;
  if (session.running) return 'A turn is running. You can write the next one; Esc stops this one.';
  if (viaChosen() === 'eventsource' && !fitsAddress(session.ask(input.value))) return 'Too long for an EventSource: it will be sent with fetch.';
  if (viaChosen() === 'eventsource' && session.continues) return 'An EventSource sends no history: this turn will stand alone.';
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
  if (session.stop()) input.focus();
}

byId('new').addEventListener('click', () => {
  halt();
  session.renew();
  compose();
  set(byId('turns'));
  byId('empty').hidden = false;
  choose(null);
  input.focus();
});

addEventListener('pagehide', () => session.leave(true));
addEventListener('pageshow', (event) => {
  session.leave(false);
  if (event.persisted && session.running) location.reload();
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
if (cut?.task && cut.turn) session.rejoin(cut);
else if (cut) addTurn(new TurnRecord(session.ask(cut.input), 'fetch')).reloaded(cut.id); // shown, and not run again
compose();
gateway.refresh();
