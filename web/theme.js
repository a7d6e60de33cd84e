// Runs before the page is drawn, so that a chosen theme does not flash.
try {
  const theme = localStorage.getItem('sluice.theme')?.replaceAll('"', '');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch {
  // Storage is switched off: the system's theme is used.
}
