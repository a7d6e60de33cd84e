// What waits for a person at this gateway, of this page or of another one. An answer is
// given to the task that waits, and the turn goes on in the conversation.

import { ApprovalCard } from './approval.js';
import { byId, el, set } from './dom.js';
import { conversations, keep } from './waits.js';

/** @typedef {import('../types').Address} Address */
/** @typedef {import('../types').Answer} Answer */
/** @typedef {import('../types').Approval} Approval */

const mostPages = 5; // of one list

export class Inbox {
  #user = /** @type {HTMLInputElement} */ (byId('user'));
  /** @type {Map<string, ApprovalCard>} by their ids; what is written in one stays */
  #cards = new Map();
  asks = () => {}; // for the list

  /** @param {(card: ApprovalCard, answer: Answer, address: Address) => void} decide */
  constructor(decide) {
    this.decide = decide;
    this.#user.addEventListener('change', () => this.asks());
  }

  /** Who answers, if that is said. @returns {Record<string, string>} */
  get #who() {
    const user = this.#user.value.trim();
    return user ? { user_id: user } : {};
  }

  /**
   * What may be decided here: by the user that is written, also if another one has begun it; of nobody in
   * particular what this browser has begun, as nobody is told what others have.
   * @param {(path: string) => Promise<any>} getJSON @param {boolean} known  whether the gateway knows who asks @returns {Promise<Approval[]>}
   */
  async read(getJSON, known) {
    const who = this.#who;
    if (known || who.user_id) return (await pages(who, getJSON)) ?? [];
    const list = [];
    for (const conversation_id of conversations()) {
      const found = await pages({ conversation_id }, getJSON);
      if (found?.length === 0) keep(conversations().filter((id) => id !== conversation_id));
      list.push(...found ?? []);
    }
    return list;
  }

  /** @param {boolean} there  whether the gateway asks people, and keeps what it asks @param {Approval[]} list */
  show(there, list) {
    byId('inbox-panel').hidden = !there;
    byId('inbox-count').textContent = String(list.length);
    const root = byId('inbox');
    for (const [id, card] of this.#cards) {
      if (list.some((a) => a.approval_id === id)) continue;
      card.node.remove();
      this.#cards.delete(id);
    }
    if (list.length === 0) set(root, el('p', { class: 'faint' }, 'Nothing waits.'));
    else if (this.#cards.size === 0) set(root);
    for (const approval of list) {
      const { approval_id, task_id } = approval;
      if (this.#cards.has(approval_id) || !task_id) continue;
      const card = new ApprovalCard(approval, (answer) => this.decide(card, answer, { task: task_id, approval_id, ...this.#who }));
      this.#cards.set(approval_id, card);
      root.append(card.node);
    }
  }
}

/**
 * A list to its end, as far as it is reasonable; null: it could not be read.
 * @param {Record<string, string>} query @param {(path: string) => Promise<any>} getJSON
 * @returns {Promise<Approval[] | null>}
 */
async function pages(query, getJSON) {
  const list = [];
  let next = {};
  for (let page = 0; page < mostPages; page++) {
    const reply = await getJSON(`approvals?${new URLSearchParams({ ...query, ...next })}`);
    if (!reply?.approvals) return null;
    list.push(...reply.approvals);
    if (!reply.next_cursor) break;
    next = { cursor: reply.next_cursor };
  }
  return list;
}
