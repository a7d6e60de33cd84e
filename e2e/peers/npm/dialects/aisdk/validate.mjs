// Validates each frame of UI message streams against the schema by which the AI SDK reads them.
//
//     curl -N …/api/chat … | node validate.mjs [PACKAGE…]
//
// Reads frames, of one stream or of several behind each other, and validates them with each PACKAGE
// (ai-5.0.100, …; without one, all that are installed here). Versions before 6 do not know the
// part tool-approval-request: for them a stream must be of a request with approvals: false.
// Writes {PACKAGE: {"frames": N, "faults": ["<what is wrong>: <frame>", …]}}, at most ten faults each.
import { readdir } from 'node:fs/promises';
import { text } from 'node:stream/consumers';

let packages = process.argv.slice(2);
if (packages.length === 0) {
  packages = (await readdir(new URL('node_modules', import.meta.url))).filter((name) => /^ai-\d/.test(name));
}

const frames = (await text(process.stdin)).split('\n\n')
  .filter((frame) => frame !== '' && !frame.startsWith(':') && frame !== 'data: [DONE]');

// what says what is wrong with a part: of all forms that there are, with the one of its type.
function what(error) {
  const issue = error.issues?.[0];
  const own = issue?.errors?.find((form) => !form.some((i) => i.path[0] === 'type'));
  return own?.map((i) => `${i.path.join('.')} ${i.message}`).join('; ') ?? 'no such type';
}

const verdict = {};
for (const name of packages) {
  const { asSchema, uiMessageChunkSchema } = await import(name);
  const schema = asSchema(uiMessageChunkSchema);
  const faults = [];
  for (const frame of frames) {
    let wrong;
    try {
      if (!frame.startsWith('data: ')) throw new Error('no data');
      const result = await schema.validate(JSON.parse(frame.slice('data: '.length)));
      if (!result.success) wrong = what(result.error);
    } catch (error) {
      wrong = error.message;
    }
    if (wrong !== undefined && faults.length < 10) faults.push(`${wrong}: ${frame.slice(0, 300)}`);
  }
  verdict[name] = { frames: frames.length, faults };
}
process.stdout.write(JSON.stringify(verdict));
