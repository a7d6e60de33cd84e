// Judges what package channel made: reads a line of JSON for each text from stdin, and
// writes one for each with what it finds wrong. Counters and parsers are other people's.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { marked } from "marked";

const require = createRequire(import.meta.url);
const { SegmentedMessage } = require("sms-segments-calculator");
// The package's lib is ESM without suffixes, which Node does not load.
const AdaptiveCards = require("adaptivecards/dist/adaptivecards.js");

const segmenter = new Intl.Segmenter("und", { granularity: "grapheme" });
const bare = (s) => s.replace(/\s/gu, "");

// sms asks Twilio's counter. Its graphemes are older than ours, so it may need fewer or
// more segments; a part must fit by its count all the same.
function sms(part, most) {
  const counted = new SegmentedMessage(part.content);
  const faults = [];
  if (counted.encodingName !== part.encoding) faults.push(`encoding is ${counted.encodingName}, not ${part.encoding}`);
  if (counted.segmentsCount > most) faults.push(`${counted.segmentsCount} segments, not ${part.segments}`);
  return faults;
}

// card asks Microsoft's parser, and marked whether a text block is more than it shows.
function card(json) {
  const context = new AdaptiveCards.SerializationContext();
  const parsed = new AdaptiveCards.AdaptiveCard();
  parsed.parse(json, context);
  const faults = [];
  for (let i = 0; i < context.eventCount; i++) faults.push(`card: ${context.getEventAt(i).message}`);
  const visit = (v) => {
    if (Array.isArray(v)) return v.forEach(visit);
    if (!v || typeof v !== "object") return;
    if (v.type === "TextBlock") faults.push(...strange(v.text));
    Object.values(v).forEach(visit);
  };
  visit(json.body);
  return faults;
}

function strange(text) {
  const faults = [];
  marked.walkTokens(marked.lexer(text), (t) => {
    if (["html", "heading", "code", "codespan", "blockquote", "table", "image", "hr", "del"].includes(t.type)) faults.push(`a text block has ${t.type}: ${text}`);
  });
  return faults;
}

// graphemes looks for the ends of parts among those of the content's graphemes.
function graphemes(content, parts) {
  const ends = new Set();
  let n = 0;
  for (const { segment } of segmenter.segment(content)) ends.add((n += bare(segment).length));
  let at = 0;
  for (const part of parts) {
    at += bare(part).length;
    if (!ends.has(at)) return [`a part ends within a grapheme: ${part}`];
  }
  return [];
}

for await (const line of createInterface({ input: process.stdin })) {
  const text = JSON.parse(line);
  const faults = [];
  for (const part of text.sms ?? []) faults.push(...sms(part, text.most));
  for (const json of text.cards ?? []) faults.push(...card(json));
  faults.push(...graphemes(text.content, text.bodies ?? []));
  process.stdout.write(JSON.stringify({ name: text.name, faults }) + "\n");
}
