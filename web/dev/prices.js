// Prices that a person has entered for models, and the cost of a turn by them. Without them there is
// no cost: a built-in price would be wrong sooner or later.

import { useState } from '../vendor/hooks.js';
import { keepSetting, setting } from '../model/chat.js';
import { h } from '../view/h.js';

/** @typedef {{ in?: number, cached?: number, out?: number }} Price  dollars for a million tokens */
/** @typedef {NonNullable<TraceStep['usage']>} Usage */

/** @returns {Record<string, Price>} by model */
const readPrices = () => setting('prices') ?? {};

function priceOf(/** @type {Price | undefined} */ price, /** @type {Usage} */ { input_tokens: input, output_tokens: output, thinking_tokens: thinking, cached_tokens: cached = 0 }) {
  if (!price || price.in === undefined || price.out === undefined) return null;
  return ((input - cached) * price.in + cached * (price.cached ?? price.in) + (output + thinking) * price.out) / 1e6;
}

/** The cost of a trace in dollars; null: the price of a model is not known. @param {Trace | null} trace @param {string} model  of the turn @param {Usage | undefined} usage  of the turn */
export function costOf(trace, model, usage) {
  const prices = readPrices();
  const calls = (trace?.steps ?? []).filter((s) => s.usage && s.model && s.step_name !== 'turn');
  const costs = calls.length > 0 ? calls.map((s) => priceOf(prices[s.model ?? ''], /** @type {Usage} */ (s.usage))) : usage ? [priceOf(prices[model], usage)] : [];
  return costs.length > 0 && costs.every((c) => c !== null) ? costs.reduce((sum, c) => (sum ?? 0) + (c ?? 0), 0) : null;
}

export const dollars = (/** @type {number} */ cost) => `$${cost < 0.1 ? cost.toPrecision(2) : cost.toFixed(2)}`;

export function Prices(/** @type {{ models: string[] }} */ { models }) {
  const [prices, setPrices] = useState(readPrices());
  const put = (/** @type {string} */ model, /** @type {keyof Price} */ kind, /** @type {string} */ text) => {
    const next = { ...prices, [model]: { ...prices[model], [kind]: text === '' ? undefined : Number(text) } };
    setPrices(next);
    keepSetting('prices', next);
  };
  /** @type {[keyof Price, string][]} */
  const kinds = [['in', 'In'], ['cached', 'Cached'], ['out', 'Out']];
  return h('section', null, h('h3', null, 'Prices'), h('p', { class: 'soft' }, 'Dollars for a million tokens. They stay in this browser, and Trace shows costs by them.'),
    models.map((model) => h('fieldset', { key: model, class: 'prices' }, h('legend', null, h('code', null, model)), kinds.map(([kind, name]) => h('label', { key: kind }, name, h('input', { type: 'number', min: 0, step: 'any', value: prices[model]?.[kind] ?? '', 'data-testid': `price-${kind}`, onChange: (/** @type {any} */ e) => put(model, kind, e.currentTarget.value) }))))));
}
