/**
 * `troupe restore` that is ended before it is complete, by Ctrl-C or kill -9. Its bucket does not
 * answer, so it is ended while it waits.
 */
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { openS3Artifacts } from '../../../runtime/artifacts/s3.ts';
import { createBackup } from '../../../runtime/backup/create.ts';
import { createSystem, openEmbedded } from '../../../runtime/index.ts';
import { scratchFolder } from '../../runtime/config/folder.ts';
import { eventually } from '../../runtime/eventually.ts';
import { puppetType } from '../../runtime/system/puppet.ts';
import { type S3Server, startS3Server } from '../../servers/s3-server.ts';
import { runProgram, startProgram } from '../program.ts';

const SIGINT_EXIT = 130;
const silent = { kind: 'silent' } as const;

/** Less than the 30 s and 60 s that a request waits for an answer, of which there are three. */
const AT_ONCE_MS = 15_000;

let server: S3Server;
/** a backup with a file of the bucket */
let backup: string;

beforeAll(async () => {
  server = await startS3Server();
  server.settings.listing = true;
  const { settings: _, ...own } = server;
  const bucket = openS3Artifacts({ ...own, encryption: 'none', mimeTypes: ['*/*'] });
  await bucket.put('acme', Buffer.from('contents'), { contentType: 'text/plain' });
  const folder = mkdtempSync(join(tmpdir(), 'troupe-restore-'));
  const store = join(folder, 'store');
  const system = await createSystem({
    ...(await openEmbedded({ path: store })),
    actors: [puppetType()],
    shards: 2,
  });
  await system.stop();
  ({ path: backup } = await createBackup({
    store,
    config: { secrets: [], leftOut: [] },
    to: { folder: join(folder, 'backups') },
    program: 'test',
    async *files() {},
    bucket,
  }));
  return async () => {
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  };
});

/** An installation whose bucket is that of the test, and what a restore beside it leaves. */
function place() {
  const home = scratchFolder();
  const { endpoint, bucket, region, accessKeyId, secretAccessKey } = server;
  const s3 = { endpoint, bucket, region, accessKeyId, secretAccessKey, encryption: 'none' };
  const config = join(home, 'c.json5');
  writeFileSync(config, JSON.stringify({ a2a: { artifacts: { s3 } } }));
  const parent = join(home, 'restored');
  const restore = ['restore', backup, '--data', join(parent, 'r4'), '--config', config];
  return { home, restore, left: () => (existsSync(parent) ? readdirSync(parent) : []) };
}

/** Started, and waiting for the bucket. */
async function waiting(args: readonly string[], home: string, env = {}) {
  server.faults.push(silent, silent, silent);
  onTestFinished(() => void server.faults.splice(0));
  const before = server.requests.length;
  const program = startProgram(args, { home, stdin: '', env });
  await eventually(() => expect(server.requests.length).toBeGreaterThan(before), 60_000);
  return program;
}

it('ends at once at Ctrl-C while the bucket of the new installation does not answer', async () => {
  const { home, restore, left } = place();
  const program = await waiting(restore, home);
  expect(left()).toHaveLength(1);
  program.child.kill('SIGINT');
  await eventually(() => expect(program.child.exitCode).toBe(SIGINT_EXIT), AT_ONCE_MS);
  expect(program.stderr).toMatch(/the request to the store of artifacts, http:\S+, was ended/);
  expect(left()).toEqual([]);
}, 90_000);

it('ends at once at Ctrl-C while the bucket of the backups does not answer', async () => {
  const { home } = place();
  const tmp = scratchFolder();
  const env = {
    AWS_ACCESS_KEY_ID: server.accessKeyId,
    AWS_SECRET_ACCESS_KEY: server.secretAccessKey,
    AWS_REGION: server.region,
    TMPDIR: tmp,
  };
  const from = ['restore', `s3://${server.bucket}/b`, '--endpoint', server.endpoint];
  const program = await waiting([...from, '--data', join(home, 'r4')], home, env);
  program.child.kill('SIGINT');
  await eventually(() => expect(program.child.exitCode).toBe(SIGINT_EXIT), AT_ONCE_MS);
  expect(program.stderr).toMatch(/the request to the store of backups, http:\S+, was ended/);
  expect(existsSync(join(home, 'r4'))).toBe(false);
  expect(readdirSync(tmp).filter((name) => name.startsWith('troupe-scratch-'))).toEqual([]);
}, 90_000);

it('leaves a folder when it is killed, which the next restore to the same target removes', async () => {
  const { home, restore, left } = place();
  const killed = await waiting(restore, home);
  killed.child.kill('SIGKILL');
  await killed.ended;
  const [draft] = left();
  expect(draft).toMatch(/^~r4\./);
  const running = await waiting(restore, home);
  const ofRunning = left();
  expect(ofRunning).toHaveLength(1);
  expect(ofRunning).not.toContain(draft);
  // One that runs keeps its folder, and only one of both completes the target.
  server.faults.splice(0);
  expect(await runProgram(restore, { home })).toMatchObject({ code: 0 });
  expect(left().toSorted()).toEqual(['r4', ...ofRunning].toSorted());
  running.child.kill('SIGINT');
  await running.ended;
  expect(left()).toEqual(['r4']);
  expect(readdirSync(join(home, 'restored', 'r4'))).toEqual(['store']);
}, 120_000);
