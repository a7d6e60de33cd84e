// What state the gateway is in: the model, breakers, servers, agents and tools, as
// /readyz, /agents and /tools have them.

import { call, isWanted, onUnreachable } from '../wire/credential.js';
import { attribute, byId, el, set } from './dom.js';
import { counted } from '../words.js';

/** @typedef {import('../types').Agent} Agent */
/** @typedef {import('../types').Breaker} Breaker */
/** @typedef {import('../types').Ready} Ready */
/** @typedef {import('../types').Tool} Tool */

const every = 15_000;
export const offlineModel = 'offline-demo';

export class StatusPanel {
  /** @type {Ready | null} */
  #ready = null;
  /** Whether the gateway keeps turns, as far as is known. */
  keeps = false;
  /** Whether the gateway says more of itself to those alone whom it knows. */
  asksWho = false;
  #read = 0; // when
  #poll = 0;
  #tick = 0;
  #shown = ''; // the tools that are listed
  #team = ''; // the agents that are

  /** @param {(known: import('../model/examples.js').Known) => void} onKnown  what is configured @param {(ready: Ready, get: typeof getJSON) => Promise<void>} onReady  asks for more */
  constructor(onKnown, onReady) {
    this.onKnown = onKnown;
    this.onReady = onReady;
    onUnreachable(() => { if (this.#ready) this.refresh(); });
    document.addEventListener('visibilitychange', () => this.#schedule());
  }

  /** Asks again now, and then at intervals while the page is seen. */
  async refresh() {
    clearTimeout(this.#poll);
    const ready = await getJSON('readyz');
    this.#read = performance.now();
    this.#ready = ready?.status ? { model: '', breakers: [], mcp: [], ...ready } : null;
    this.asksWho = this.#ready !== null && !ready.breakers;
    if (ready?.breakers) this.keeps = ready.store !== undefined;
    this.#draw();
    if (this.#ready && !isWanted()) this.#agents((await getJSON('agents'))?.agents ?? []);
    if (this.#ready && !isWanted()) {
      this.#tools((await getJSON('tools'))?.tools ?? []);
      await this.onReady(this.#ready, getJSON);
    }
    this.#schedule();
  }

  #schedule() {
    clearTimeout(this.#poll);
    const wait = Math.max(0, this.#read + every - performance.now());
    if (document.visibilityState === 'visible') this.#poll = setTimeout(() => this.refresh(), wait);
  }

  #draw() {
    const ready = this.#ready;
    const health = byId('health');
    attribute(health, 'data-health', ready?.status ?? 'unreachable');
    health.textContent = headline(ready);
    byId('unreachable').hidden = ready !== null;
    byId('gateway').hidden = ready === null;
    if (!ready) return;
    byId('offline').hidden = ready.model !== offlineModel;
    this.onKnown({ offline: ready.model === offlineModel });
    set(byId('facts'),
      ...(this.asksWho ? [] : fact('Model', ready.model === offlineModel ? `${ready.model}, a simulator` : ready.model || 'none')),
      ...(ready.streams === undefined ? [] : fact('Streams now', String(ready.streams))),
      ...fact('Status', ready.status));
    byId('parts').hidden = this.asksWho;
    set(byId('servers'), ...ready.mcp.map((m) => el('li', { class: 'row', 'data-state': m.connected ? 'closed' : 'open' },
      el('span', { class: 'dot', 'aria-hidden': 'true' }), el('code', {}, m.server),
      el('span', { class: 'faint' }, m.connected ? `connected, ${counted(m.tools, 'tool')}` : 'not connected'))));
    this.#breakers();
  }

  // The seconds until an open breaker lets a call through are counted here.
  #breakers() {
    clearTimeout(this.#tick);
    const since = performance.now() - this.#read;
    const breakers = this.#ready?.breakers ?? [];
    set(byId('breakers'), ...breakers.map((b) => breaker(b, since)));
    if (breakers.some((b) => b.retry_after_ms > since)) this.#tick = setTimeout(() => this.#breakers(), 500);
  }

  // Without agents there is nothing to see of them.
  /** @param {Agent[]} agents */
  #agents(agents) {
    this.onKnown({ agents });
    const key = JSON.stringify(agents);
    if (key === this.#team) return;
    this.#team = key;
    byId('agents-panel').hidden = agents.length === 0;
    set(byId('agents'), ...agents.map(agentItem));
    byId('agent-count').textContent = String(agents.length);
  }

  /** @param {Tool[]} tools */
  #tools(tools) {
    this.onKnown({ tools });
    const key = JSON.stringify(tools);
    if (key === this.#shown) return; // what is open stays open
    this.#shown = key;
    set(byId('tools'), ...tools.map(toolItem), tools.length === 0 ? el('p', { class: 'faint' }, 'The model has no tools.') : null);
    byId('tool-count').textContent = String(tools.length);
  }
}

/** @param {string} path */
async function getJSON(path) {
  try {
    return await (await call(path, { signal: AbortSignal.timeout(10_000) })).json();
  } catch {
    return null;
  }
}

/**
 * Returns the one line that says how the gateway is.
 * @param {Ready | null} ready
 */
export function headline(ready) {
  if (!ready) return 'Gateway unreachable';
  if (ready.status === 'draining') return 'Shutting down';
  if (ready.status === 'degraded' && ready.breakers.length === 0) return 'Some parts do not work';
  const open = ready.breakers.filter((b) => b.state !== 'closed').map((b) => b.service);
  if (open.length > 0) return `Breaker ${ready.breakers.some((b) => b.state === 'open') ? 'open' : 'half-open'}: ${open.join(', ')}`;
  const keyless = (ready.models ?? []).filter((m) => m.missing_key);
  if (keyless.length > 0) return keyless.map((m) => `Missing key of ${m.key}: set ${m.missing_key}`).join('; ');
  const missing = ready.mcp.filter((m) => !m.connected).map((m) => m.server);
  return missing.length > 0 ? `Not connected: ${missing.join(', ')}` : 'All systems ready';
}

/** @param {string} name @param {string} value */
const fact = (name, value) => [el('dt', {}, name), el('dd', {}, value)];

/** @param {Breaker} b @param {number} since milliseconds since it was read */
function breaker(b, since) {
  const left = Math.ceil((b.retry_after_ms - since) / 1000);
  /** @type {Record<string, string>} */
  const words = {
    closed: b.failure_count > 0 ? `closed, ${counted(b.failure_count, 'failure')} in a row` : 'closed: calls pass',
    open: left > 0 ? `open: calls fail at once for ${left} s more` : 'open: the next call is a trial',
    'half-open': 'half-open: trial calls pass',
  };
  return el('li', { class: 'row', 'data-testid': 'breaker', 'data-service': b.service, 'data-state': b.state },
    el('span', { class: 'dot', 'aria-hidden': 'true' }), el('code', {}, b.service), el('span', { class: 'faint' }, words[b.state] ?? b.state));
}

/** @param {Agent} agent */
function agentItem(agent) {
  const hints = [!agent.routable && 'only by name', !agent.available && 'not available', agent.model && `model: ${agent.model}`,
    ...agent.tools.map((name) => `tools: ${name}`)].filter((h) => typeof h === 'string');
  return el('details', { class: 'tool-item', 'data-testid': 'agent-item' },
    el('summary', {}, el('code', {}, agent.id), el('span', { class: 'faint' }, ` ${agent.name}`)),
    el('p', { dir: 'auto' }, agent.description),
    el('p', { class: 'hints' }, ...hints.map((h) => el('span', { class: 'chip' }, h))),
    agent.capabilities.length > 0 ? el('p', { class: 'faint', dir: 'auto' }, agent.capabilities.join(', ')) : null);
}

/** @param {Tool} tool */
function toolItem(tool) {
  const a = tool.annotations;
  const hints = [
    a.readOnlyHint && 'only reads', a.destructiveHint && 'may destroy', a.idempotentHint && 'safe to repeat',
    a.openWorldHint && 'reaches outside', tool.fallback && `fallback: ${tool.fallback}`,
  ].filter((h) => typeof h === 'string');
  return el('details', { class: 'tool-item' },
    el('summary', {}, el('code', {}, tool.name), el('span', { class: 'faint' }, ` ${tool.server}`)),
    el('p', { dir: 'auto' }, tool.description || 'It has no description.'),
    hints.length > 0 ? el('p', { class: 'hints' }, ...hints.map((h) => el('span', { class: 'chip' }, h))) : null,
    parameters(tool));
}

/** @param {Tool} tool */
function parameters({ input_schema: schema }) {
  const names = Object.keys(schema?.properties ?? {});
  if (names.length === 0) return el('p', { class: 'faint' }, 'It takes no arguments.');
  return el('dl', { class: 'params' }, ...names.flatMap((name) => {
    const p = schema.properties?.[name] ?? {};
    const kind = p.enum ? p.enum.map((v) => String(v)).join(' | ') : [p.type ?? 'any'].flat().join(' | ');
    const must = schema.required?.includes(name) ? 'required ' : '';
    return [el('dt', {}, el('code', {}, name), el('span', { class: 'faint' }, ` ${must}${kind}`)), el('dd', { dir: 'auto' }, p.description ?? '')];
  }));
}
