/**
 * The program when the header of its data file cannot be written: it opens the file again and
 * continues. If the file is not what it was, it ends with a message, and a start loses nothing.
 * `TROUPE_KILL_SEED` repeats a run.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { expect, test, vi } from 'vitest';
import { randomOf } from '../random.ts';
import { eventually } from '../runtime/eventually.ts';
import { account, Conversations, OWN_RUNS } from './conversations.ts';
import { TestProgram } from './test-program.ts';

const SEED = Number(process.env['TROUPE_KILL_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const FAILURES = 3;

const program = new TestProgram(`{ ${OWN_RUNS} }`);
const store = join(program.folder, 'data/store');

const acceptedOf = ({ sent }: Conversations) => sent.filter(({ accepted }) => accepted).length;

/** lmdb-js writes each failed commit to standard error. */
const failed = () => (program.errors.match(/^Error: No space left on device$/gm) ?? []).length;

async function startWithFullHeader(): Promise<void> {
  const outfile = join(program.folder, 'full-header.mjs');
  const entry = join(import.meta.dirname, 'full-header.program.ts');
  await build({ entryPoints: [entry], outfile, bundle: true, platform: 'node', format: 'esm' });
  vi.stubEnv('NODE_OPTIONS', `--import=${outfile}`);
  vi.stubEnv('FULL_HEADER_OF', store);
  await program.start();
  vi.unstubAllEnvs();
}

test.skipIf(process.platform !== 'linux')(
  `the program opens its data file again when the header cannot be written, and ends when it is another file (seed ${SEED})`,
  { timeout: 180_000 },
  async () => {
    const conversations = new Conversations(SEED, randomOf(SEED));
    await startWithFullHeader();
    const client = await program.connect();
    const enough = new AbortController();
    const loading = conversations.load(client, enough.signal);
    for (let failure = 0; failure < FAILURES; failure++) {
      const before = acceptedOf(conversations);
      await eventually(() => expect(acceptedOf(conversations)).toBeGreaterThan(before + 10));
      process.kill(program.pid, 'SIGUSR2');
      await eventually(() => expect(failed()).toBe(failure + 1));
    }
    enough.abort();
    await loading;
    // None was refused.
    expect([program.exit, acceptedOf(conversations)]).toEqual([null, conversations.sent.length]);
    await account(client, conversations.sent);

    const other = new AbortController();
    const last = conversations.load(client, other.signal);
    writeFileSync(join(store, 'moves'), '');
    process.kill(program.pid, 'SIGUSR2');
    await eventually(() => expect(program.exit).toBe(1));
    other.abort();
    await last;
    expect(program.errors).toContain('the store failed and must be restarted');
    await program.kill();
    renameSync(join(store, 'moves'), join(store, 'data.mdb'));
    await program.start();
    const again = await program.connect();
    await conversations.repeatUnanswered(again);
    await account(again, conversations.sent);
  },
);
