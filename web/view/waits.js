// The conversations of this browser in which something waited for a person, kept for other
// visits: whom nobody has made sure of finds a question by its conversation alone.

const name = 'sluice.waits';
const most = 8;

/** Those that were kept, the last one first. @returns {string[]} */
export function conversations() {
  try {
    const list = JSON.parse(localStorage.getItem(name) ?? '[]');
    return Array.isArray(list) ? list.filter((id) => typeof id === 'string').slice(0, most) : [];
  } catch {
    return []; // not ours, or no storage
  }
}

/** @param {string[]} list */
export function keep(list) {
  try {
    localStorage.setItem(name, JSON.stringify(list.slice(0, most)));
  } catch {
    // Without storage a question is found in its conversation, until that is left.
  }
}

/** Notes that something waits in a conversation. @param {string} conversation */
export function waits(conversation) {
  if (conversation) keep([conversation, ...conversations().filter((id) => id !== conversation)]);
}
