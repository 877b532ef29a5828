/**
 * A plugin of the bundler: `import … from 'node:http'` becomes a read of Node's module object.
 *
 * Why: an `import` of a built-in module reads every property of it, and since Node 22.5 `node:http`
 * has properties that load the implementation of `fetch` and WebSocket when they are read. That
 * costs 30 ms and 14 MB in each process, most of which use neither.
 *
 * Boundary: `WebSocket`, `CloseEvent` and `MessageEvent` of `node:http` cannot be imported.
 * Functions are read once, at the first import: instrumentation that replaces `http.request` later
 * is not seen, as it is not by any other `import { request }`.
 */
import http from 'node:http';

const heavy = new Set(['WebSocket', 'CloseEvent', 'MessageEvent']);
const namespace = 'light-http';

/** The module as source: its default export and each of its properties by name. */
const contents = [
  `const http = process.getBuiltinModule('node:http');`,
  'export default http;',
  `export const { ${Object.keys(http)
    .filter((name) => !heavy.has(name))
    .join(', ')} } = http;`,
].join('\n');

export const lightHttp = {
  name: 'light-http',
  setup(build) {
    build.onResolve({ filter: /^(node:)?http$/ }, ({ kind }) =>
      kind === 'import-statement' || kind === 'dynamic-import'
        ? { path: 'node:http', namespace, sideEffects: false }
        : undefined,
    );
    build.onLoad({ filter: /.*/, namespace }, () => ({ contents }));
  },
};
