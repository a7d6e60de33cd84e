// What waits for a person at this gateway, of this page or of another one. An answer is
// given to the task that waits, and the turn goes on in the conversation.

import { ApprovalCard } from './approval.js';
import { byId, el, set } from './dom.js';

/** @typedef {import('./types').Address} Address */
/** @typedef {import('./types').Answer} Answer */
/** @typedef {import('./types').Approval} Approval */

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

  /** Who asks: only what waits for this user is listed. @returns {Record<string, string>} */
  get #who() {
    const user = this.#user.value.trim();
    return user ? { user_id: user } : {};
  }

  /** Where the list is. */
  get address() { return `approvals?${new URLSearchParams(this.#who)}`; }

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
