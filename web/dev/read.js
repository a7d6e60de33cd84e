// Reading for Developer.

import { call } from '../wire/credential.js';

/** The trace of a task; null: there is none for this person. @param {string} task @returns {Promise<Trace | null>} */
export async function readTrace(task) {
  try {
    const response = await call(`tasks/${encodeURIComponent(task)}/trace`);
    if (response.ok) return await response.json();
    await response.body?.cancel();
  } catch {
    // It is drawn from the events that came here.
  }
  return null;
}
