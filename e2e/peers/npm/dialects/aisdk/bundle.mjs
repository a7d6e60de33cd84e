// Bundles examples/usechat with versions of @ai-sdk/react, each with the version of ai that it wants.
//
//     echo '{"dir": "/tmp/pages", "reacts": ["react-3.0.326"]}' | node bundle.mjs
//
// Writes a folder with index.html and app.js for each, and the number of them.
import { build } from 'esbuild';
import { copyFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { json } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const example = `${here}/../../../../../examples/usechat`;

// versions resolves the example's imports. ai 5 has no predicate for answers of people.
const versions = (react) => ({
  name: 'versions',
  setup(build) {
    const at = (path, resolveDir, kind) => build.resolve(path, { resolveDir, kind, pluginData: 'resolved' });
    build.onResolve({ filter: /^(react|react-dom|@ai-sdk\/react|ai)(\/|$)/ }, async ({ path, kind, importer, namespace, resolveDir, pluginData }) => {
      if (pluginData === 'resolved' || importer.includes('node_modules')) return undefined;
      if (namespace === 'ai') return at(path, resolveDir, kind);
      return path === 'ai' ? { path: react, namespace: 'ai' } : at(path === '@ai-sdk/react' ? react : path, here, kind);
    });
    build.onLoad({ filter: /.*/, namespace: 'ai' }, async () => ({
      resolveDir: dirname((await at(react, here, 'import-statement')).path),
      contents: "export * from 'ai';"
        + (react.startsWith('react-2.') ? 'export const lastAssistantMessageIsCompleteWithApprovalResponses = undefined;' : ''),
    }));
  },
});

const { dir, reacts } = await json(process.stdin);
await Promise.all(reacts.map(async (react) => {
  await build({
    entryPoints: [`${example}/app.jsx`], bundle: true, outfile: `${dir}/${react}/app.js`, format: 'iife', jsx: 'automatic', logLevel: 'error',
    define: { 'process.env.NODE_ENV': '"development"' }, // which complains the most
    plugins: [versions(react)],
  });
  await copyFile(`${example}/index.html`, `${dir}/${react}/index.html`);
}));
process.stdout.write(JSON.stringify(reacts.length));
