/**
 * Decides which chunks of the program become one file: those that are mostly loaded together.
 *
 * Why: esbuild makes a chunk for each set of entries and lazy imports that share code, and cannot
 * merge them. `troupe start` would load 260 files, most of which are apart only because some rare
 * command needs a few of them. That takes an eighth of its processor time until it is ready.
 *
 * How: each entry and lazy import is a load of chunks, and frequent programs are loads that count
 * more. A file costs each load of it its bytes and a constant. Two files become one while that
 * lowers the sum, the best pair first.
 *
 * Invariants:
 *  1. Files never import each other in a circle, so that the order of evaluation stays valid.
 *  2. Entries, and what is imported lazily, stay files of their own, with the same exports.
 *  3. The same chunks make the same files.
 */
import { isBuiltin } from 'node:module';

const command = ['cli/main.ts', 'runtime/config/index.ts'];
const stays = [...command, 'installation/start-rules.ts', 'main.ts'];
const clustered = [...stays, 'compose/cluster.ts', 'runtime/cluster/nats-ports.ts'];
const asks = [...command, 'cli/client/connect-as-required.ts'];

/** What frequent programs load, by the sources of entries and lazy imports, and what it counts. */
const frequent = [
  { weight: 50, sources: [...stays, 'cli/processes/start.ts', 'runtime/log/embedded-store.ts'] },
  { weight: 20, sources: [...clustered, 'cli/processes/worker.ts'] },
  { weight: 20, sources: [...clustered, 'cli/processes/gateway.ts'] },
  { weight: 10, sources: [...asks, 'cli/chat/agent.ts'] },
  { weight: 10, sources: [...asks, 'cli/operation-commands.ts', 'cli/run-operation.ts'] },
];

/**
 * What it costs to find, open and link a file, and to load a module of Node or a package from
 * outside the bundle (XState, LMDB): as bytes of code to load.
 */
const bytesPerFile = 4000;
const bytesOfNodeModule = 10_000;
const bytesOfPackage = 3_000_000;

/** V8 needs memory for a whole file while it parses it, and does not give all of it back. */
const fileBytesMax = 300_000;

const isStatic = ({ kind }) => kind === 'import-statement';

const importsOf = (path, outputs, follows) =>
  outputs[path].imports
    .filter((each) => each.path in outputs && follows(each))
    .map((each) => each.path);

/** These chunks and those that they import, the imported ones first. */
export function withImports(paths, outputs, follows = isStatic) {
  const found = new Set();
  const seen = new Set();
  const visit = (path) => {
    if (seen.has(path)) return;
    seen.add(path);
    importsOf(path, outputs, follows).forEach(visit);
    found.add(path);
  };
  paths.forEach(visit);
  return found;
}

/**
 * What is loaded together, and its weight. Lazy imports are of a command, so its start is there.
 */
function loadsOf(chunks, outputs) {
  const byEntry = new Map(chunks.map((path) => [outputs[path].entryPoint, path]));
  byEntry.delete(undefined);
  const alone = [...byEntry.keys()].map((source) => ({
    weight: 1,
    sources: ['cli/main.ts', source],
  }));
  return [...frequent, ...alone].map(({ weight, sources }) => {
    const entries = sources.flatMap((source) => byEntry.get(source) ?? []);
    return { weight, paths: withImports(entries, outputs) };
  });
}

/** What it costs to load a chunk that is not needed, in bytes. */
function costOf({ bytes, imports }) {
  const outside = imports.filter((each) => each.external && isStatic(each));
  const cost = ({ path }) => (isBuiltin(path) ? bytesOfNodeModule : bytesOfPackage);
  return outside.reduce((sum, each) => sum + cost(each), bytes);
}

/**
 * By how much all loads become less when two files become one; none when they may not. A load of
 * one of them then also loads what the other one imports.
 */
function gainOf(a, b, weights, withA = [a], withB = [b]) {
  if (a.isFixed || b.isFixed || a.bytes + b.bytes > fileBytesMax) return 0;
  const missing = (n, files) =>
    files.reduce((sum, file) => (file.loads[n] ? sum : sum + file.cost), 0);
  let gain = 0;
  for (let n = 0; n < weights.length; n++)
    if (a.loads[n] && b.loads[n]) gain += weights[n] * bytesPerFile;
    else if (a.loads[n]) gain -= weights[n] * missing(n, withB);
    else if (b.loads[n]) gain -= weights[n] * missing(n, withA);
  return gain;
}

/** A file and all that it imports, or that some of its imports import. */
function withImported(imports, fileOf) {
  const found = new Set();
  const open = [...imports];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    const file = fileOf.get(path);
    if (found.has(file)) continue;
    found.add(file);
    open.push(...file.imports);
  }
  return [...found];
}

/** Whether a file imports another one through a third. */
const reaches = (from, to, fileOf) => {
  const others = from.imports.filter((path) => ![from, to].includes(fileOf.get(path)));
  return withImported(others, fileOf).includes(to);
};

const merged = (a, b) => ({
  members: [...a.members, ...b.members],
  bytes: a.bytes + b.bytes,
  cost: a.cost + b.cost,
  loads: a.loads.map((isLoaded, n) => isLoaded || b.loads[n]),
  imports: [...a.imports, ...b.imports],
  isFixed: false,
});

const better = (best, pair) => (pair.gain > best.gain ? pair : best);

/** @param outputs esbuild's, by path. @returns the paths of the chunks of each file */
export function chunkFiles(outputs) {
  const chunks = Object.keys(outputs).filter((path) => path.endsWith('.js'));
  const loads = loadsOf(chunks, outputs);
  const weights = loads.map(({ weight }) => weight);
  const files = [...withImports(chunks, outputs)].map((path) => ({
    members: [path],
    bytes: outputs[path].bytes,
    cost: costOf(outputs[path]),
    loads: loads.map(({ paths }) => paths.has(path)),
    imports: importsOf(path, outputs, isStatic),
    isFixed: outputs[path].entryPoint !== undefined,
  }));
  const fileOf = new Map(files.map((file) => [file.members[0], file]));
  const pairsOf = (file, others) =>
    others
      .map((other) => ({ a: other, b: file, gain: gainOf(other, file, weights) }))
      .filter(({ gain }) => gain > 0);
  let pairs = files.flatMap((file, at) => pairsOf(file, files.slice(0, at)));
  while (pairs.length > 0) {
    const { a, b } = pairs.reduce(better);
    const withA = withImported(a.members, fileOf);
    const withB = withImported(b.members, fileOf);
    const isCircle = reaches(a, b, fileOf) || reaches(b, a, fileOf);
    if (isCircle || gainOf(a, b, weights, withA, withB) <= 0) {
      pairs = pairs.filter((pair) => pair.a !== a || pair.b !== b);
      continue;
    }
    const file = merged(a, b);
    for (const path of file.members) fileOf.set(path, file);
    for (const each of [...withA, ...withB])
      each.loads = each.loads.map((isLoaded, n) => isLoaded || file.loads[n]);
    const isOld = (each) => each === a || each === b;
    pairs = pairs.filter((pair) => !isOld(pair.a) && !isOld(pair.b));
    const others = [...new Set(fileOf.values())].filter((other) => other !== file);
    pairs.push(...pairsOf(file, others));
  }
  return [...new Set(fileOf.values())].map(({ members }) => members);
}
