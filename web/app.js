// The page: it runs one turn at a time and shows it in the conversation and in
// the panel beside it.

import { spoken } from './view/approval.js';
import './view/appearance.js';
import { ChannelPicker } from './view/channel.js';
import { Comeback } from './view/comeback.js';
import { Composer } from './view/composer.js';
import { CredentialField, isShown } from './wire/credential.js';
import { byId, say, set } from './view/dom.js';
import { Examples } from './model/examples.js';
import { Inbox } from './view/inbox.js';
import { Inspector } from './view/inspector.js';
import { recall } from './wire/memory.js';
import { showTurn } from './view/panel.js';
import { TurnRecord } from './model/record.js';
import { Follower, wide } from './view/scroll.js';
import { Session } from './model/session.js';
import { countWaiting, showPanel } from './view/sheet.js';
import { StatusPanel } from './view/status.js';
import { Tasks } from './view/tasks.js';
import { TurnView } from './view/turn.js';
import { waits } from './view/waits.js';

/** @typedef {import('./types').Ask} Ask */

const log = byId('log');
const inspector = new Inspector(byId('inspector'));
const picker = new ChannelPicker();
const inbox = new Inbox((card, answer, address) => decide(null, card, answer, address));
const cards = new Examples((prompt) => runTurn(prompt));
const gateway = new StatusPanel((known) => cards.know(known), async ({ approvals }, getJSON) => {
  if (gateway.asksWho) door.show();
  const me = isShown() ? await getJSON('me') : null;
  if (me?.scopes) door.known(me);
  tasks.offer(gateway.keeps);
  comeback.say(gateway.keeps);
  if (gateway.keeps) comeback.complete();
  const list = await getJSON('channels');
  picker.offer(list?.channels ?? [], list?.quality?.drafts);
  const workflows = (await getJSON('workflows'))?.workflows ?? [];
  picker.offerWorkflows(workflows);
  cards.know({ channels: list?.channels ?? [], workflows });
  const decides = approvals ?? me?.scopes?.includes('approve') ?? false;
  const waiting = decides ? await inbox.read(getJSON, Boolean(me?.user)) : [];
  inbox.show(decides, waiting);
  countWaiting(waiting.length);
});
const door = new CredentialField(() => gateway.refresh());
inbox.asks = () => gateway.refresh();
const conversation = new Follower();
const session = new Session(begin, () => gateway.keeps, () => picker.fields);

const composer = new Composer(session, (text) => runTurn(text));
const comeback = new Comeback(session, (past) => tasks.show(past.task), (running) => session.rejoin(running));
const tasks = new Tasks(async (talk) => {
  if (!(await comeback.open(talk))) return say('A turn is running. Stop it first.');
  choose(null);
  conversation.pin();
  composer.focus();
});

/** @param {string} text */
async function runTurn(text) {
  if (session.running) return say('A turn is running. Stop it first.');
  const ask = session.ask(text);
  const run = session.run(ask, composer.via(ask));
  composer.refresh();
  await run;
}

/**
 * Goes on with a turn that waits. An answer that is not taken can be given again.
 * @param {TurnRecord | null} waiting  null: it is not of this page
 * @param {import('./view/approval.js').ApprovalCard} card @param {import('./types').Answer} answer @param {import('./types').Address} address
 */
async function decide(waiting, card, answer, address) {
  if (session.running) {
    say('A turn is running. Stop it first.');
    card.reopen();
    return;
  }
  const ask = { input: spoken(answer, card.approval), conversation_id: waiting?.ask.conversation_id ?? '', approval: { ...address, ...answer } };
  const run = session.run(ask, 'fetch', waiting);
  composer.refresh();
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
 * @returns {import('./model/session.js').View}
 */
function begin(record) {
  last = record;
  comeback.begun(record);
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
      comeback.ended(record, view.node.querySelector('.summary')?.textContent ?? '');
      tasks.changed();
      if (isChosen()) choose(record);
      conversation.follow();
      composer.refresh();
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
    edit: (text) => composer.write(text),
    inspect() {
      choose(record);
      showPanel();
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

byId('new').addEventListener('click', () => {
  composer.halt();
  session.renew();
  comeback.renew();
  composer.refresh();
  set(byId('turns'));
  byId('empty').hidden = false;
  choose(null);
  composer.focus();
});

document.addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'visible' && gateway.keeps) comeback.look(); // another tab may have added something
});

addEventListener('pagehide', () => session.leave(true));
addEventListener('pageshow', (event) => {
  session.leave(false);
  if (event.persisted && session.running) location.reload();
});

// On a narrow screen the panel is below, and folded.
if (!wide.matches) for (const section of document.querySelectorAll('#panel > details')) section.removeAttribute('open');
choose(null);
const cut = recall();
if (cut?.task && cut.turn) session.rejoin(cut);
else if (cut) addTurn(new TurnRecord(session.ask(cut.input), 'fetch')).reloaded(cut.id); // shown, and not run again
composer.refresh();
gateway.refresh();
