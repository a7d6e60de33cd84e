// Judges what package channel made: reads a line of JSON for each text from stdin, and
// writes one for each with what it finds wrong. Counters and parsers are other people's, and
// slow: each processor has a thread, which gets lines by the batch.
import { once } from "node:events";
import { createRequire } from "node:module";
import { availableParallelism } from "node:os";
import { createInterface } from "node:readline";
import { Worker, isMainThread, parentPort } from "node:worker_threads";
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
    faults.push(...unknown(v));
    Object.values(v).forEach(visit);
  };
  visit(json.body);
  return faults;
}

// unknown returns the properties of an element that Microsoft's parser passes over in silence.
function unknown(element) {
  const known = new Set(["type", "columns", "rows", "cells", "items", "inlines"]); // of the containers, which read their children themselves
  const schema = element.type ? new AdaptiveCards[element.type]().getSchema() : null;
  if (!schema) return []; // a column, which has no name
  for (let i = 0; i < schema.getCount(); i++) known.add(schema.getItemAt(i).name);
  return Object.keys(element).filter((name) => !known.has(name)).map((name) => `card: ${element.type} has no ${name}`);
}

function strange(text) {
  const faults = [];
  marked.walkTokens(marked.lexer(text), (t) => {
    if (["html", "heading", "code", "codespan", "blockquote", "table", "image", "hr", "del"].includes(t.type)) faults.push(`a text block has ${t.type}: ${text}`);
  });
  return faults;
}

const isSpace = (c) => /\s/u.test(c);

// cuts returns where the parts end in the content, which they are but for white space; -1:
// they are not.
function cuts(content, parts) {
  const ends = [];
  let at = 0;
  for (const part of parts) {
    for (const c of bare(part)) {
      while (at < content.length && isSpace(content[at])) at++;
      if (!content.startsWith(c, at)) return -1;
      at += c.length;
    }
    ends.push(at);
  }
  return bare(content.slice(at)) === "" ? ends : -1;
}

// graphemes looks for the ends of parts among those of the content's graphemes.
function graphemes(content, parts) {
  const ends = cuts(content, parts);
  if (ends === -1) return ["the parts joined are not the content"];
  const segments = segmenter.segment(content);
  const faults = [];
  ends.forEach((at, i) => {
    if (at < content.length && segments.containing(at).index !== at) faults.push(`a part ends within a grapheme: ${parts[i]}`);
  });
  return faults;
}

// missing looks for words and links of the source, of which none may be lost.
function missing(text) {
  const whole = bare(text.content);
  return (text.words ?? []).filter((word) => !whole.includes(bare(word))).map((word) => `it lacks ${word}`);
}

function judge(line) {
  const text = JSON.parse(line);
  const faults = [];
  for (const part of text.sms ?? []) faults.push(...sms(part, text.most));
  for (const json of text.cards ?? []) faults.push(...card(json));
  if (text.bodies) faults.push(...graphemes(text.content, text.bodies));
  faults.push(...missing(text));
  return JSON.stringify({ name: text.name, faults });
}

// deal gives batches of lines to threads, two each at most, so that what is read stays small.
async function deal() {
  const idle = [];
  const threads = Array.from({ length: availableParallelism() }, () => new Worker(new URL(import.meta.url)));
  for (const thread of threads) {
    idle.push(thread, thread);
    thread.on("message", (verdicts) => {
      process.stdout.write(verdicts + "\n");
      idle.push(thread);
      thread.emit("idle");
    });
  }
  const free = async () => {
    while (idle.length === 0) await Promise.race(threads.map((thread) => once(thread, "idle")));
    return idle.shift();
  };
  let batch = [];
  for await (const line of createInterface({ input: process.stdin })) {
    if (batch.push(line) < 100) continue;
    (await free()).postMessage(batch);
    batch = [];
  }
  if (batch.length > 0) (await free()).postMessage(batch);
  while (idle.length < 2 * threads.length) await Promise.race(threads.map((thread) => once(thread, "idle")));
  await Promise.all(threads.map((thread) => thread.terminate()));
}

if (isMainThread) await deal();
else parentPort.on("message", (lines) => parentPort.postMessage(lines.map(judge).join("\n")));
