// The events of a stream, sluice/1. All places that name them take them from here.

/** @typedef {'start' | 'quality' | 'route' | 'agent' | 'node' | 'inner_delta' | 'model' | 'thinking' | 'tool_call' | 'response_delta' | 'response_reset' | 'channel_message' | 'error' | 'approval' | 'done'} EventName */

/** @type {readonly EventName[]} in the order in which a turn may have them */
export const eventNames = ['start', 'quality', 'route', 'agent', 'node', 'inner_delta', 'model', 'thinking', 'tool_call', 'response_delta', 'response_reset', 'channel_message', 'error', 'approval', 'done'];

/** The data of an event; null: it is no JSON object. @param {string} data @returns {any} */
export function dataOf(data) {
  try {
    const value = JSON.parse(data);
    return value && typeof value === 'object' ? value : null;
  } catch {
    return null;
  }
}
