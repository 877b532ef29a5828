/**
 * A plugin of the bundler: of some packages the program contains only the parts that it uses.
 *
 * Why: with code splitting, esbuild counts the index file of a package as a whole, and the index of
 * a CommonJS package requires everything. Each process of troupe would load 200 KB of code that
 * nothing calls: conversions of TypeBox, summaries and push gateways of prom-client, worker threads
 * of pino, no-operation meters of OpenTelemetry.
 *
 * Boundary: an import of a name that is not listed here fails the build ("No matching export").
 * `pino` throws when its option `transport` is used.
 */
import { join } from 'node:path';
import { root } from './install.mjs';

const namespace = 'light-packages';
const at = (path) => JSON.stringify(join(root, 'node_modules', path));
const typebox = (path) => at(`@sinclair/typebox/build/esm/${path}.mjs`);
const otel = (path) => at(`@opentelemetry/api/build/esm/${path}.js`);
const jose = (path) => at(`jose/dist/webapi/${path}.js`);

/** What the program uses of TypeBox's `Type`. */
const typeParts = [
  'Array',
  'Boolean',
  'Composite',
  'Integer',
  'Intersect',
  'Literal',
  'Never',
  'Null',
  'Number',
  'Object',
  'Omit',
  'Optional',
  'Record',
  'Ref',
  'String',
  'Tuple',
  'Uint8Array',
  'Union',
  'Unknown',
  'Unsafe',
];
const folderOf = (name) => name.toLowerCase();

/** The modules that replace those of a package, by name. */
const modules = {
  '@sinclair/typebox': `
    export { FormatRegistry, TypeRegistry } from ${typebox('type/registry/index')};
    export { Kind } from ${typebox('type/symbols/symbols')};`,
  'light-type': typeParts
    .map((name) => `export { ${name} } from ${typebox(`type/${folderOf(name)}/index`)};`)
    .join('\n'),
  // A namespace, so that the bundler reports a function that is missing here.
  '@sinclair/typebox/value': `
    export * as Value from 'light-value';`,
  'light-value': `
    export { Check } from ${typebox('value/check/check')};
    export { Default } from ${typebox('value/default/default')};
    export { Errors } from ${typebox('errors/errors')};`,
  'prom-client': `
    export { default as collectDefaultMetrics } from ${at('prom-client/lib/defaultMetrics.js')};
    export { default as Counter } from ${at('prom-client/lib/counter.js')};
    export { default as Gauge } from ${at('prom-client/lib/gauge.js')};
    export { default as Histogram } from ${at('prom-client/lib/histogram.js')};
    export { default as Registry } from ${at('prom-client/lib/registry.js')};`,
  '@opentelemetry/api': `
    export { context } from ${otel('context-api')};
    export { trace } from ${otel('trace-api')};
    export { ROOT_CONTEXT } from ${otel('context/context')};
    export { createTraceState } from ${otel('trace/internal/utils')};
    export { INVALID_SPAN_CONTEXT } from ${otel('trace/invalid-span-constants')};
    export { ProxyTracerProvider } from ${otel('trace/ProxyTracerProvider')};
    export { SpanKind } from ${otel('trace/span_kind')};
    export { isSpanContextValid } from ${otel('trace/spancontext-utils')};
    export { SpanStatusCode } from ${otel('trace/status')};
    export { TraceFlags } from ${otel('trace/trace_flags')};`,
  jose: `
    export { CompactEncrypt } from ${jose('jwe/compact/encrypt')};
    export { compactDecrypt } from ${jose('jwe/compact/decrypt')};
    export { createLocalJWKSet } from ${jose('jwks/local')};
    export { createRemoteJWKSet } from ${jose('jwks/remote')};
    export { jwtVerify } from ${jose('jwt/verify')};
    export { SignJWT } from ${jose('jwt/sign')};
    export { exportJWK } from ${jose('key/export')};
    export { generateKeyPair } from ${jose('key/generate_key_pair')};
    export { importJWK } from ${jose('key/import')};
    export { decodeJwt } from ${jose('util/decode_jwt')};
    export { decodeProtectedHeader } from ${jose('util/decode_protected_header')};
    export * as errors from ${jose('util/errors')};`,
  'light-transport': `
    module.exports = () => {
      throw new Error('this program contains no transports of pino');
    };`,
};

/**
 * The imports of a file, and what is before them. Later ones are text: `troupe init` writes some.
 */
const HEAD = /^(?:\s|\/\*[^]*?\*\/|\/\/.*|import [^;]*;)*/;

/**
 * Imports `Type` of TypeBox as a namespace, on as many lines: the bundler then refers to each
 * function by its own name, and reports one that is missing here.
 */
export const withTypeNamespace = (text) =>
  text.replace(HEAD, (head) =>
    head.replaceAll(
      /^import \{([^{}]*)\bType\b,?([^{}]*)\} from '@sinclair\/typebox';$/gm,
      (_, before, after) =>
        `import {${before}${after}} from '@sinclair/typebox'; import * as Type from 'light-type';`,
    ),
  );

const listed = Object.keys(modules).map((name) => name.replace('/', '\\/'));

/** What a package requires, and the module that replaces it. */
const required = [
  { by: 'prom-client', path: /^@opentelemetry\/api$/, module: '@opentelemetry/api' },
  { by: 'pino', path: /^\.\/(?:lib\/)?transport$/, module: 'light-transport' },
];

export const lightPackages = {
  name: 'light-packages',
  setup(build) {
    const light = (path) => ({ path, namespace, sideEffects: false });
    // Other packages receive the whole ones.
    build.onResolve({ filter: new RegExp(`^(?:${listed.join('|')})$`) }, (args) =>
      args.kind === 'import-statement' && !args.importer.includes('/node_modules/')
        ? light(args.path)
        : undefined,
    );
    for (const { by, path, module } of required)
      build.onResolve({ filter: path }, ({ importer }) =>
        importer.includes(`/node_modules/${by}/`) ? light(module) : undefined,
      );
    build.onLoad({ filter: /.*/, namespace }, ({ path }) => ({
      contents: modules[path],
      resolveDir: root,
    }));
  },
};
