/**
 * `troupe import openclaw` with installations that the real program made, see
 * make-openclaw.program.mjs:
 * 2026.7.1 with sessions in files, 2026.9.6 with sessions in SQLite.
 */
import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { announced, type Ended, runProgram, startProgram } from '../cli/program.ts';
import { scratchFolder } from '../runtime/config/folder.ts';

const hasSqlite = Number(process.versions.node.split('.')[0]) >= 22;
const MS = 120_000;

type Item = { kind: string; id: string; target?: string; status: string; detail?: string };
type Report = { items: Item[]; counts: Record<string, number>; warnings: string[] };

function installation(name: string): string {
  const folder = scratchFolder();
  execFileSync('tar', ['-xzf', join(import.meta.dirname, `${name}.tar.gz`), '-C', folder]);
  return folder;
}
const importFrom = (state: string, home: string, ...more: string[]): Promise<Ended> =>
  runProgram(['import', 'openclaw', state, '--json', '--data', join(home, 'data'), ...more], {
    home,
  });
const reportOf = ({ stdout }: Ended): Report => JSON.parse(stdout);
const statusOf = ({ items }: Report, id: string): string | undefined =>
  items.find((item) => item.id === id)?.status;

it(
  'imports an installation with files into an empty data folder, and later what is new',
  async () => {
    const [home, state] = [scratchFolder(), installation('openclaw-files')];
    const planned = reportOf(await importFrom(state, home, '--dry-run'));
    expect(planned.items).toContainEqual(
      expect.objectContaining({
        id: 'agent:main:telegram:direct:4242',
        target: 'agent:main:telegram:dm:4242',
        status: 'new',
      }),
    );
    expect(existsSync(join(home, 'data'))).toBe(false);

    const first = await importFrom(state, home);
    expect(first.code).toBe(0);
    expect(reportOf(first).counts['imported']).toBeGreaterThan(14);
    const proposal = readFileSync(join(home, 'data', 'imports', 'openclaw-proposal.json5'), 'utf8');
    expect(proposal).not.toContain('sk-fixture');
    expect(proposal).toContain('text-embedding-3-small');

    // Before a database: jobs in a file. A session that is damaged, and one that is new.
    const job = {
      id: 'tea',
      enabled: true,
      agentId: 'research',
      schedule: { kind: 'every', everyMs: 60_000 },
    };
    const payload = { kind: 'agentTurn', message: 'Make tea.' };
    execFileSync('mkdir', ['-p', join(state, 'cron')]);
    writeFileSync(
      join(state, 'cron', 'jobs.json'),
      JSON.stringify({ jobs: [{ ...job, payload }] }),
    );
    const sessions = join(state, 'agents', 'main', 'sessions');
    const index = JSON.parse(readFileSync(join(sessions, 'sessions.json'), 'utf8'));
    const more = { 'agent:main:work': { sessionId: 'w' }, 'agent:main:bad': { sessionId: 'b' } };
    writeFileSync(join(sessions, 'sessions.json'), JSON.stringify({ ...index, ...more }));
    const line = {
      type: 'message',
      id: 'm',
      parentId: null,
      message: { role: 'user', content: 'Hi.' },
    };
    writeFileSync(join(sessions, 'w.jsonl'), `${JSON.stringify(line)}\n`);
    writeFileSync(join(sessions, 'b.jsonl'), `${JSON.stringify(line)}\n{"type":`);
    appendFileSync(join(state, 'workspace', 'SOUL.md'), 'And a gardener.\n');

    const troupe = startProgram(['start', '--port', '0', '--json', '--data', join(home, 'data')], {
      home,
    });
    await announced(troupe, 60_000);
    const second = await importFrom(state, home, '--with-secrets');
    const report = reportOf(second);
    expect(second.code).toBe(1);
    expect(statusOf(report, 'agent:main:main')).toBe('before');
    expect(statusOf(report, 'agent:main:work')).toBe('imported');
    expect(report.items).toContainEqual(
      expect.objectContaining({
        id: 'agent:main:bad',
        status: 'damaged',
        detail: expect.stringContaining('b.jsonl:2'),
      }),
    );
    expect(statusOf(report, 'main/SOUL.md')).toBe('changed');
    expect(statusOf(report, 'tea')).toBe('imported');
    const secret = join(home, 'data', 'secrets', 'openclaw', 'FAKE_API_KEY');
    expect(readFileSync(secret, 'utf8')).toBe('sk-fixture-not-a-key\n');

    const list = async (...command: string[]) =>
      JSON.parse(
        (await runProgram([...command, '--json', '--data', join(home, 'data')], { home })).stdout,
      );
    const { sessions: rows } = await list('sessions', 'list');
    const keys = rows.map(({ key }: { key: string }) => key);
    expect(keys).toContain('agent:main:slack:group:C024BE91L:topic:1717.22');
    expect(keys).toContain('agent:research:main');
    expect(keys).not.toContain('agent:main:bad');
    // Where Node reads SQLite, there are those of the database, too.
    expect((await list('cron', 'list')).schedules).toContainEqual(
      expect.objectContaining({ jobId: 'tea', state: 'off' }),
    );
    expect((await list('devices', 'list')).paired).toMatchObject([{ role: 'node', tokens: [] }]);
  },
  MS,
);

it.skipIf(hasSqlite)(
  'an older Node cannot read SQLite, and says what to do',
  async () => {
    const refused = await importFrom(installation('openclaw-sqlite'), scratchFolder(), '--dry-run');
    expect(refused.code).toBe(2);
    expect(refused.stdout).toContain('need Node 22.15 or newer');
  },
  MS,
);

it.skipIf(!hasSqlite)(
  'imports an installation with SQLite',
  async () => {
    const [home, state] = [scratchFolder(), installation('openclaw-sqlite')];
    const device = 'a'.repeat(43);
    const name = 'node:sqlite';
    const { DatabaseSync } = (await import(name)) as {
      DatabaseSync: new (path: string) => { exec(sql: string): void; close(): void };
    };
    // What the generated installation lacks: a damaged device, other tables, and a log that is not
    // applied.
    const database = new DatabaseSync(join(state, 'state', 'openclaw.sqlite'));
    database.exec(`INSERT INTO device_pairing_paired
    (device_id, public_key, role, roles_json, tokens_json, created_at_ms, approved_at_ms)
    VALUES ('wrong', '${device}', 'operator', '["operator"]', '{}', 1, 1);
    CREATE TABLE later_feature (x); INSERT INTO later_feature VALUES (1);
    PRAGMA journal_mode = WAL; UPDATE cron_jobs SET updated_at = 1`);
    const report = reportOf(await importFrom(state, home));
    database.close();
    expect(report.warnings.join()).toContain('write-ahead log');
    expect(statusOf(report, 'wrong')).toBe('damaged');
    expect(report.items).toContainEqual(
      expect.objectContaining({
        kind: 'table',
        id: 'openclaw.sqlite later_feature',
        status: 'skipped',
      }),
    );
    const jobs = report.items.filter(
      ({ kind, status }) => kind === 'schedule' && status === 'imported',
    );
    expect(jobs.map(({ detail }) => detail).join()).toMatch(/Morning: .*disabled/);
    expect(statusOf(report, 'agent:main:main')).toBe('imported');
    const find = (kind: string, start: string) =>
      report.items.find((item) => item.kind === kind && item.id.startsWith(start));
    expect(find('device', '7bd35e3e')).toMatchObject({
      status: 'imported',
      detail: 'vm, node; without a token',
    });
    expect(find('agent', 'Ops')).toMatchObject({ status: 'imported', target: 'ops' });
    expect(find('session', 'agent:ops:night')).toMatchObject({ status: 'imported' });
    expect(find('binding', 'bindings[0]')).toMatchObject({
      status: 'imported',
      target: 'agents.routing.telegram.groups.-100777',
    });
    expect(find('binding', 'bindings[1]')).toMatchObject({ status: 'skipped' });
    const again = reportOf(await importFrom(state, home));
    expect(again.counts['imported']).toBeUndefined();
    // An event that OpenClaw had compressed.
    const out = join(home, 'exported');
    const data = join(home, 'data');
    const troupe = startProgram(['start', '--port', '0', '--json', '--data', data], { home });
    await announced(troupe, 60_000);
    await runProgram(['sessions', 'export', 'agent:main:long', '--out', out, '--data', data], {
      home,
    });
    const files = readdirSync(out).map((file) => readFileSync(join(out, file), 'utf8'));
    expect(files.join()).toContain('A long story. '.repeat(1_999));
    const devices = await runProgram(['devices', 'list', '--json', '--data', data], { home });
    expect(JSON.parse(devices.stdout)).toMatchObject({ paired: [{ role: 'node', tokens: [] }] });
  },
  MS,
);
