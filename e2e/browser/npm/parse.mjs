// Reads {name: stream} from stdin, parses each stream with eventsource-parser in
// pieces of several sizes, and writes {name, events, errors} for each.
import { text } from 'node:stream/consumers';
import { isDeepStrictEqual } from 'node:util';
import { createParser } from 'eventsource-parser';

function parse(stream, size) {
  const events = [], errors = [];
  const parser = createParser({
    onEvent: ({ id, event, data }) => events.push({ id, event, data }),
    onError: (e) => errors.push(`${e.type}: ${e.message}`),
  });
  for (let i = 0; i < stream.length; i += size) parser.feed(stream.slice(i, i + size));
  return { events, errors };
}

for (const [name, stream] of Object.entries(JSON.parse(await text(process.stdin)))) {
  const { events, errors } = parse(stream, stream.length);
  for (const size of [1, 7, 100]) {
    const split = parse(stream, size);
    if (!isDeepStrictEqual(split, { events, errors })) errors.push(`other events in pieces of ${size}`);
  }
  console.log(JSON.stringify({ name, events, errors }));
}
