// A form for the values that a schema describes: a field for each property, or JSON where they are
// more than fields can have.

import { useState } from '../vendor/hooks.js';
import { fieldOf, fitsFields } from '../model/question.js';
import { h } from './h.js';

/** @param {{ schema: Schema | undefined, values: Record<string, unknown>, label: string, change: (values: Record<string, unknown> | null) => void }} props  change: null, the text is not a JSON object */
export function Fields({ schema, values, label, change }) {
  const [given, setGiven] = useState(values);
  if (!schema || !fitsFields(schema) || Object.keys(values).some((name) => !schema.properties?.[name])) return h(JSONField, { values, label, change });
  /** @param {string} name @param {unknown} value  undefined: it is left out */
  const put = (name, value) => {
    const next = { ...given, [name]: value };
    if (value === undefined) delete next[name];
    setGiven(next);
    change(Object.values(next).includes(null) ? null : next);
  };
  return h('div', { class: 'fields' }, Object.entries(schema.properties ?? {}).map(([name, property]) => h(Field, { key: name, name, property, value: given[name], isNeeded: schema.required?.includes(name) === true, put: (/** @type {unknown} */ v) => put(name, v) })));
}

let last = 0;

function Field(/** @type {{ name: string, property: Schema, value: unknown, isNeeded: boolean, put: (value: unknown) => void }} */ { name, property, value, isNeeded, put }) {
  const [id] = useState(() => `field-${++last}`);
  const kind = fieldOf(property);
  const isNumber = kind === 'number';
  const common = { id, name, 'data-testid': `field-${name.replace(/\W/g, '-').toLowerCase()}`, 'aria-describedby': property.description ? `${id}-about` : undefined };
  const title = `${name}${isNeeded ? '' : ' (optional)'}`;
  const about = property.description ? h('small', { id: `${id}-about`, dir: 'auto' }, property.description) : null;
  if (kind === 'yes') {
    return h('div', { class: 'field' }, h('label', { class: 'check' }, h('input', { type: 'checkbox', ...common, checked: value === true, onChange: (/** @type {any} */ e) => put(e.currentTarget.checked) }), title), about);
  }
  const control = property.enum
    ? h('select', { ...common, value: String(value ?? ''), onChange: (/** @type {any} */ e) => put(property.enum?.find((v) => String(v) === e.currentTarget.value)) },
      isNeeded && value !== undefined ? null : h('option', { value: '' }, ''), property.enum.map((v) => h('option', { key: String(v), value: String(v), selected: v === value }, String(v))))
    : kind === 'json' ? h(JSONLine, { common, value, put })
    : h('input', { type: isNumber ? 'number' : 'text', step: 'any', ...common, value: value === undefined ? '' : String(value), autocomplete: 'off', onInput: (/** @type {any} */ e) => put(e.currentTarget.value === '' ? undefined : isNumber ? Number(e.currentTarget.value) : e.currentTarget.value) });
  return h('div', { class: 'field' }, h('label', { for: id }, title), control, about);
}

/** A value that is a list or an object. @param {{ common: Record<string, any>, value: unknown, put: (value: unknown) => void }} props */
function JSONLine({ common, value, put }) {
  const [text, setText] = useState(() => (value === undefined ? '' : JSON.stringify(value)));
  return h('input', { type: 'text', class: 'mono', ...common, value: text, placeholder: 'JSON', spellcheck: false, 'aria-invalid': value === null ? 'true' : undefined, onInput: (/** @type {any} */ e) => {
    setText(e.currentTarget.value);
    try {
      put(e.currentTarget.value.trim() === '' ? undefined : JSON.parse(e.currentTarget.value));
    } catch {
      put(null);
    }
  } });
}

function JSONField(/** @type {{ values: Record<string, unknown>, label: string, change: (values: Record<string, unknown> | null) => void }} */ { values, label, change }) {
  const [text, setText] = useState(() => JSON.stringify(values, null, 2));
  const isBad = objectOf(text) === null;
  return h('div', { class: 'field' }, h('textarea', { class: 'mono', rows: 6, value: text, spellcheck: false, 'aria-label': label, 'aria-invalid': isBad ? 'true' : undefined, 'data-testid': 'arguments', onInput: (/** @type {any} */ e) => {
    setText(e.currentTarget.value);
    change(objectOf(e.currentTarget.value));
  } }), isBad ? h('p', { class: 'bad', role: 'alert' }, 'This is not a JSON object.') : null);
}

/** @param {string} text @returns {Record<string, unknown> | null} */
function objectOf(text) {
  try {
    const value = JSON.parse(text);
    return value && typeof value === 'object' && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}
