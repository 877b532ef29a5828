/**
 * `npm test`: installs missing dependencies, builds a stale dist/, fetches a nats-server, and runs
 * every test that can run on this machine. It prints what could not run and why, and ends with the
 * plain line `N passed, N failed[, N skipped]`. Arguments are passed to vitest: `npm test --
 * test/runtime`. With CI set and without options of vitest, few failed files run again, alone, and
 * what fails only once is listed.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureBuilt } from './build.mjs';
import { runFailedAgain } from './failed-again.mjs';
import { ensureInstalled, root } from './install.mjs';
import { missingHere } from './machine.mjs';
import { ensureNats } from './nats.mjs';

const folder = join(root, 'node_modules', '.cache', 'troupe');
const resultFile = join(folder, 'test-result.json');
/** Prints the last line again, for a script that prints something after it. */
const lineFile = join(folder, 'test-line.txt');

/** The result of a run that ended before its report: one failure, that of the runner. */
const notReported = {
  passed: 0,
  failures: ['vitest ended before its report'],
  failedFiles: [],
  errors: 1,
  unfinished: 0,
  skipped: [],
};

function runVitest(args) {
  rmSync(resultFile, { force: true });
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
  const reporters = ['--reporter=default', `--reporter=${join(root, 'tools', 'test-report.mjs')}`];
  const { status } = spawnSync(process.execPath, [vitest, 'run', ...reporters, ...args], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, TROUPE_TEST_RESULT: resultFile },
  });
  const reported = existsSync(resultFile);
  const result = reported ? JSON.parse(readFileSync(resultFile, 'utf8')) : notReported;
  const failed = result.failures.length + result.unfinished;
  // vitest may fail without a failed test (no test found, a worker died): that is not a success.
  return { ...result, failed: status === 0 ? failed : Math.max(1, failed) };
}

function sayWhatDidNotRun({ skipped }) {
  const missing = missingHere();
  if (missing.length + skipped.length === 0) return;
  console.log('\nNot run on this machine:');
  for (const line of missing) console.log(`  - ${line}`);
  for (const { name, why } of skipped) {
    console.log(`  - ${name}${why ? `: ${why}` : ''}`);
  }
}

function sayWhatFailedOnce({ failedOnce = [] }) {
  if (failedOnce.length === 0) return;
  console.log('\nFailed at first, and passed alone:');
  for (const line of failedOnce) console.log(`  - ${line}`);
}

/** Repeats the failures at the end, where they are found without reading the whole output. */
function sayWhatFailed({ failures }) {
  if (failures.length === 0) return;
  console.log('\nFailed:');
  for (const line of failures) console.log(`  - ${line}`);
}

/** A failed build counts as one failure; the tests that need no build still run. */
function buildOrSay() {
  try {
    ensureBuilt();
    return true;
  } catch (error) {
    console.error(`npm test: ${error.message}`);
    return false;
  }
}

ensureInstalled({ dev: true });
mkdirSync(folder, { recursive: true });
rmSync(lineFile, { force: true });
const built = buildOrSay();
ensureNats();
const args = process.argv.slice(2);
const first = runVitest(args);
// With options or a record, a second run would do something else than the first.
const isPlain = !process.env.TROUPE_TEST_SECONDS && !args.some((arg) => arg.startsWith('-'));
const result = process.env.CI && isPlain ? runFailedAgain(first, runVitest) : first;
result.failed += built ? 0 : 1;
sayWhatDidNotRun(result);
sayWhatFailedOnce(result);
sayWhatFailed(result);
const skipped = result.skipped.length > 0 ? `, ${result.skipped.length} skipped` : '';
const line = `${result.passed} passed, ${result.failed} failed${skipped}`;
writeFileSync(lineFile, `${line}\n`);
console.log(`\n${line}`);
process.exitCode = result.failed > 0 ? 1 : 0;
