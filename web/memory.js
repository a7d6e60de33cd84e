// The turn under way, kept for after a reload, which cuts it.

const name = 'sluice.running';

/** @typedef {{ input: string, id: string }} Kept */

/** @param {Kept} turn */
export function remember(turn) {
  try {
    sessionStorage.setItem(name, JSON.stringify(turn));
  } catch {
    // Without storage a reload leaves no trace.
  }
}

export function forget() {
  try {
    sessionStorage.removeItem(name);
  } catch {
    // Nothing was kept either.
  }
}

/**
 * The turn that a reload has cut, once.
 * @returns {Kept | null}
 */
export function recall() {
  try {
    const kept = JSON.parse(sessionStorage.getItem(name) ?? 'null');
    forget();
    return kept ? { input: String(kept.input), id: String(kept.id) } : null;
  } catch {
    return null; // not ours, or no storage
  }
}
