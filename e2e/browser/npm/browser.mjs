import { chromium } from 'playwright-core';

// launch starts Chromium with a profile of its own. It runs as root in containers,
// and it must not talk to anybody but us. Few renderers do for our few pages.
export const launch = (executablePath, ...more) => chromium.launch({
  executablePath,
  args: [
    '--no-sandbox', '--renderer-process-limit=2', '--disable-gpu', '--disable-quic', '--no-first-run',
    '--disable-background-networking', '--disable-component-update', '--disable-sync',
    ...more,
  ],
});
