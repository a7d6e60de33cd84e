// Light or dark, as the visitor chooses. theme.js does it before the page is drawn.

import { attribute, byId } from './dom.js';

const theme = /** @type {HTMLSelectElement} */ (byId('theme'));
theme.value = document.documentElement.dataset.theme ?? 'system';
theme.addEventListener('change', () => {
  attribute(document.documentElement, 'data-theme', theme.value === 'system' ? null : theme.value);
  try {
    localStorage.setItem('sluice.theme', theme.value);
  } catch {
    // It holds until the page is left.
  }
});
