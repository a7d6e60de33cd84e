// Prints the texts that the page's fold makes of the streams of resets.json, as JSON.
import { readFileSync } from 'node:fs';

const { Fold } = await import('../model/fold.js');

const textOf = ({ turn }) => turn.parts.filter((p) => p.kind === 'text').map((p) => p.text).join('');

const streams = JSON.parse(readFileSync(new URL('resets.json', import.meta.url), 'utf8'));
console.log(JSON.stringify(streams.map(({ events }) => {
  const fold = new Fold();
  for (const e of events) fold.add(e);
  return textOf(fold);
})));
