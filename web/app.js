// The page: it draws the frame, follows the address, and asks the gateway how it is.

import { render } from './vendor/preact.js';
import { effect } from './vendor/signals.js';
import { begun, current, keepSetting, keeps, leave, look, me, notes, open, readList, ready, runs } from './model/chat.js';
import { start as askGateway } from './wire/gateway.js';
import { talks } from './wire/talk.js';
import { followTask, put, start } from './view/address.js';
import { h } from './view/h.js';
import { Shell, shortcut } from './view/shell.js';
import { chosen, focusBox, inbox, isWide, readDraft, side } from './view/state.js';

const root = /** @type {HTMLElement} */ (document.getElementById('app'));

start();
root.replaceChildren();
render(h(Shell, {}), root);
if (isWide.peek()) focusBox();

addEventListener('keydown', shortcut);
addEventListener('pagehide', () => leave(true));
addEventListener('pageshow', (event) => {
  leave(false);
  if (event.persisted && runs()) location.reload();
});
document.addEventListener('visibilitychange', () => { if (document.visibilityState === 'visible') look(); });
addEventListener('storage', () => { notes.value = talks(); });

effect(() => { // a conversation has its address from its first message on
  if (begun.value === 0) return;
  const { id, isNew } = current.peek();
  inbox.value = false;
  chosen.value = null;
  if (!isNew) put(id, location.hash.length < 2);
});
effect(() => { keepSetting('side', side.value); });

let list = ''; // whose list was read
let isFirst = true;
effect(() => { // the gateway's store, and the person, are known after a while
  if (!ready.value) return;
  const who = `${keeps.value} ${me.value?.user ?? ''}`;
  if (who !== list) readList();
  list = who;
  if (!isFirst) return;
  isFirst = false;
  const { id, isNew } = current.peek();
  if (!isNew) open(id);
});
askGateway(() => [...new Set([...(current.peek().isNew ? [] : [current.peek().id]), ...talks().filter((t) => t.waits).slice(0, 8).map((t) => t.id)])]).then(followTask).then(readDraft);
