// The parts of the gateway, as its own endpoints report them.

import { agents, asksWho, health, ready, readAt, tools, workflows } from '../model/chat.js';
import { h } from '../view/h.js';
import { Facts, useTicks } from '../view/icon.js';
import { counted } from '../words.js';
import { Prices } from './prices.js';

export function Gateway() {
  const state = ready.value;
  useTicks(1000, (state?.breakers ?? []).some((b) => b.state === 'open'));
  const links = ['readyz', 'metrics', 'openapi.yaml'];
  if (!state) return h('p', { class: 'bad', 'data-testid': 'unreachable' }, 'The gateway does not answer. This page asks it again and again.');
  const models = [...new Set([state.model, ...(state.models ?? []).map((m) => m.model ?? '')].filter(Boolean))];
  return h('div', { class: 'gateway' },
    h(Facts, { of: [['Status', health.value], ...(asksWho.value ? [] : [['Model', state.model || 'none']]), ...(state.store ? [['Store', `${state.store.kind}, ${state.store.state}`]] : []), ...(state.streams === undefined ? [] : [['Streams', String(state.streams)]])].map(([name, value]) => /** @type {[string, string]} */ ([name, value])) }),
    (state.breakers ?? []).length > 0 ? h('section', null, h('h3', null, 'Circuit breakers'), h('ul', { class: 'parts' }, state.breakers.map((b) => h('li', { key: b.service, 'data-testid': 'breaker', 'data-service': b.service, 'data-state': b.state }, h('span', { class: `dot ${b.state === 'closed' ? 'ok' : ''}`, 'aria-hidden': 'true' }), h('code', null, b.service), h('span', { class: 'soft' }, breakerLine(b)))))) : null,
    state.mcp.length > 0 ? h('section', null, h('h3', null, 'MCP servers'), h('ul', { class: 'parts' }, state.mcp.map((m) => h('li', { key: m.server }, h('span', { class: `dot ${m.connected ? 'ok' : ''}`, 'aria-hidden': 'true' }), h('code', null, m.server), h('span', { class: 'soft' }, m.connected ? `connected, ${counted(m.tools, 'tool')}` : 'not connected'))))) : null,
    agents.value.length > 0 ? h('section', null, h('h3', null, 'Agents'), h('div', { 'data-testid': 'agent-list' }, agents.value.map((a) => h('details', { key: a.id, class: 'item', 'data-testid': 'agent-item' }, h('summary', null, h('code', null, a.id), h('span', { class: 'soft' }, ` ${a.name}`)),
      h('p', { dir: 'auto' }, a.description), h('p', { class: 'hints' }, [!a.routable && 'only by name', !a.available && 'not available', a.model && `model: ${a.model}`, ...a.tools.map((t) => `tools: ${t}`)].filter((hint) => typeof hint === 'string').map((hint) => h('span', { key: hint, class: 'hint' }, hint))))))) : null,
    workflows.value.length > 0 ? h('section', null, h('h3', null, 'Workflows'), workflows.value.map((w) => h('details', { key: w.name, class: 'item' }, h('summary', null, h('code', null, w.name), h('span', { class: 'soft', dir: 'auto' }, ` ${w.description ?? ''}`)), h('ul', null, w.nodes.map((n) => h('li', { key: n.id }, h('code', null, n.id), h('span', { class: 'soft' }, ` ${[n.type, n.agent ?? n.tool].filter(Boolean).join(' ')}, leads to ${w.edges.filter((e) => e.from === n.id).map((e) => e.to).join(', ') || 'the end'}`))))))) : null,
    h('section', null, h('h3', null, `Tools (${tools.value.length})`), h('div', { 'data-testid': 'tool-list' }, tools.value.length === 0 ? h('p', { class: 'soft' }, 'The model has no tools.') : tools.value.map((tool) => h(ToolItem, { key: `${tool.server} ${tool.name}`, tool })))),
    models.length > 0 ? h(Prices, { models }) : null,
    h('p', { class: 'links' }, links.map((name) => h('a', { key: name, href: name }, `/${name}`))));
}

function breakerLine(/** @type {Breaker} */ { state, failure_count: failures, retry_after_ms: wait }) {
  const left = Math.ceil((readAt.value + wait - performance.now()) / 1000);
  if (state === 'closed') return failures > 0 ? `closed, ${counted(failures, 'failure')} in a row` : 'closed: calls pass';
  if (state === 'half-open') return 'half-open: trial calls pass';
  return left > 0 ? `open: calls fail at once for ${left} s more` : 'open: the next call is a trial';
}

function ToolItem(/** @type {{ tool: Tool }} */ { tool }) {
  const { annotations: a, input_schema: schema } = tool;
  const hints = [a.readOnlyHint && 'only reads', a.destructiveHint && 'may destroy', a.idempotentHint && 'safe to repeat', a.openWorldHint && 'reaches outside', tool.fallback && `fallback: ${tool.fallback}`].filter((hint) => typeof hint === 'string');
  const names = Object.keys(schema?.properties ?? {});
  return h('details', { class: 'item' }, h('summary', null, h('code', null, tool.name), h('span', { class: 'soft' }, ` ${tool.server}`)),
    h('p', { dir: 'auto' }, tool.description || 'It has no description.'), hints.length > 0 ? h('p', { class: 'hints' }, hints.map((hint) => h('span', { key: hint, class: 'hint' }, hint))) : null,
    names.length === 0 ? h('p', { class: 'soft' }, 'It takes no arguments.') : h('dl', { class: 'kv' }, names.flatMap((name) => {
      const p = schema.properties?.[name] ?? {};
      const kind = p.enum ? p.enum.map(String).join(' | ') : [p.type ?? 'any'].flat().join(' | ');
      return [h('dt', { key: name }, h('code', null, name)), h('dd', { key: `${name}-is`, dir: 'auto' }, h('span', { class: 'soft' }, `${schema.required?.includes(name) ? 'required ' : ''}${kind} `), p.description ?? '')];
    })));
}
