/**
 * The auditor of `npm run bench -- faults` is tested, too: losses and duplicates that are planted
 * in a real cell, or in what the auditor reads, are in its account with ids and evidence. The
 * account is counted again by rules of its own.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { account, Arrivals, TimedAuditor } from '../../bench/faults/account.ts';
import { buildWorker } from '../../bench/faults/bundle.ts';
import { checkAccount } from '../../bench/faults/check-account.ts';
import { accountFiles, playedOf } from '../../bench/faults/account-files.ts';
import type { RequestRow, Row, TurnRow } from '../../bench/faults/evidence.ts';
import { nameOf, recount } from '../../bench/faults/recount.ts';
import { planted } from '../../bench/faults/scenarios.ts';
import {
  faultsOf,
  type Outcome,
  play,
  type Scenario,
  type Stage,
} from '../../bench/faults/stage.ts';
import type { AccountDocument } from '../../loadtest/faults/document.ts';
import type { Log } from '../../runtime/log/log.ts';
import { decodeRecord, encodeRecord } from '../../runtime/shard/commit/records.ts';
import { natsServers } from '../servers/nats.ts';

const timings = { heartbeatMs: 50, deadAfterMs: 500, joinSettleMs: 100, minStayMs: 100 };
const SEED = 7;
const none = natsServers().length === 0 ? ' (skipped: there is no nats-server here)' : '';

let program: readonly string[];
const folder = mkdtempSync(join(tmpdir(), 'troupe-faults-account-'));
beforeAll(async () => {
  program = await buildWorker();
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
  rmSync(program.at(-1)!, { force: true });
});

function played(scenario: Scenario): Promise<Outcome> {
  const cell = { timings, snapshotEvery: 20, ...scenario.cell };
  const load = { clients: 4, pauseMsMax: 200 };
  const own = join(folder, scenario.name);
  const options = { seed: SEED, folder: own, program, ...load, say: () => {} };
  return play({ ...scenario, cell }, options);
}

/** Writes the account of the outcome. Returns its path without extension. */
function written(outcome: Outcome): string {
  const base = join(folder, `account-${outcome.name}`);
  const head = { command: 'a test', seed: SEED, startedAt: '', version: '0' };
  accountFiles(`${base}.md`, head).played(playedOf(outcome));
  return base;
}

const documentOf = (base: string): AccountDocument =>
  JSON.parse(readFileSync(`${base}.json`, 'utf8')) as AccountDocument;

describe.skipIf(none !== '')(`an error planted in a real cell${none}`, () => {
  test.for([
    ['planted-loss', 'lost', 'planted-loss'],
    ['planted-duplicate', 'doubled', 'planted-duplicate'],
    ['planted-effect', 'doubled', undefined],
  ] as const)('%s is found, with ids and evidence', { timeout: 120_000 }, async (plan) => {
    const [name, kind, uid] = plan;
    const outcome = await played(planted.find((one) => one.name === name)!);
    expect(outcome[kind]).toHaveLength(1);
    expect(outcome[kind === 'lost' ? 'doubled' : 'lost']).toEqual([]);
    const again = recount(outcome.rows)[kind].map(nameOf);
    expect(again).toHaveLength(1);
    if (uid !== undefined) expect(again).toEqual([uid]);

    const base = written(outcome);
    const [scenario] = documentOf(base).scenarios;
    const finding = scenario!.findings.find((one) => one.kind === kind)!;
    expect(finding.ids).toContain(again[0]);
    expect((finding.evidence as readonly Row[]).map(nameOf)).toContain(again[0]);
    expect(scenario!.faults).toMatchObject([
      { what: expect.stringContaining(name), endedAt: expect.any(String) },
    ]);
    const text = readFileSync(`${base}.md`, 'utf8');
    expect(text).toContain(`### ${kind}: ${finding.ids.join(', ')}`);
    const { passed, text: why } = checkAccount(`${base}.json`);
    expect(passed).toBe(false);
    expect(why).toContain(`${name}: ${again[0]} is ${kind}`);
  });
});

/** A log in which the auditor reads other entries than those that are stored. */
function changed(log: Log, change: (subject: string, bytes: Uint8Array) => Uint8Array | undefined) {
  const read: Log['read'] = async (subject, from, options) => {
    const entries = await log.read(subject, from, options);
    return entries.flatMap((entry) => {
      const bytes = change(subject, entry.bytes);
      return bytes ? [{ ...entry, bytes }] : [];
    });
  };
  return new Proxy(log, {
    get: (target, key) => (key === 'read' ? read : Reflect.get(target, key, target)),
  });
}

test.skipIf(none !== '')(
  `an error planted in what the auditor reads is found, and the cell itself has none${none}`,
  { timeout: 120_000 },
  async () => {
    const found: Record<string, readonly string[]> = {};
    const auditedAgain = async (stage: Stage, change: Parameters<typeof changed>[1]) => {
      const { cell, folder: own, probes } = stage;
      const auditor = new TimedAuditor(cell.gateway.cell, probes.shards.length);
      for (const request of stage.auditor.requests.values()) auditor.request(request);
      const log = changed(cell.ports.store.log, change);
      const options = { folder: own, actors: stage.load.actors, log, restMs: 2_000 };
      const audited = await account(cell, auditor, new Arrivals(), options);
      return faultsOf({ ...audited } as Outcome);
    };
    const outcome = await played({
      name: 'read',
      what: 'what the auditor reads is changed',
      run: async (stage) => {
        await stage.load.end();
        await stage.probes.awake();
        let isDropped = false;
        found['lost'] = await auditedAgain(stage, (subject, bytes) => {
          if (isDropped || !subject.startsWith('mbx.')) return bytes;
          isDropped = true;
          return undefined;
        });
        let isRepeated = false;
        found['doubled'] = await auditedAgain(stage, (subject, bytes) => {
          if (isRepeated || !subject.startsWith('jrn.')) return bytes;
          const record = decodeRecord(bytes);
          if (record.t !== 'TURNS' || !record.turns[0]?.input.startsWith('m')) return bytes;
          isRepeated = true;
          return encodeRecord({ ...record, turns: [record.turns[0], ...record.turns] });
        });
      },
    });
    expect(found['lost']!.join('\n')).toMatch(/request probe-\d+ .* is lost/);
    expect(found['doubled']!.join('\n')).toMatch(/input m\d+(\.\d+)? has two turns/);
    expect(faultsOf(outcome)).toEqual([]);
    const base = written(outcome);
    expect(checkAccount(`${base}.md`)).toEqual({
      passed: true,
      text: expect.stringMatching(/ok$/),
    });
    expect(readFileSync(`${base}.md`, 'utf8')).toContain('Nothing is lost, doubled or different.');
  },
);

describe('counting an account again', () => {
  const turn = (turnNo: number, result = 'applied'): TurnRow => {
    const final = result !== 'stashed';
    return { shard: 0, turnNo, result, final, lasting: final };
  };
  const request = (
    copies: RequestRow['copies'],
    changes: Partial<RequestRow> = {},
  ): RequestRow => ({
    kind: 'request',
    uid: 'c1-1',
    client: 'c1',
    to: 't/plain/k1',
    keyed: true,
    sentAt: '2026-11-29T12:00:00.000Z',
    outcome: 'accepted',
    copies,
    ...changes,
  });
  const lost = (row: Row) => recount([row]).lost.length;
  const doubled = (row: Row) => recount([row]).doubled.length;

  test('an accepted request has one lasting end, in one of its copies', () => {
    const one = { id: 'a', turns: [turn(1)] };
    const other = { id: 'b', turns: [turn(2)] };
    expect(recount([request([one])])).toMatchObject({ lost: [], doubled: [] });
    expect(lost(request([]))).toBe(1);
    expect(lost(request([{ id: 'a', turns: [] }]))).toBe(1);
    expect(lost(request([], { outcome: 'unsure' }))).toBe(0);
    expect(lost(request([{ id: 'a', turns: [turn(1, 'stashed')] }]))).toBe(0);
    expect(doubled(request([one, other]))).toBe(1);
    // without a key each copy is a message of its own
    expect(doubled(request([one, other], { keyed: false }))).toBe(0);
    expect(doubled(request([{ id: 'a', turns: [turn(1), turn(2)] }], { keyed: false }))).toBe(1);
  });

  test('effects, counts and runs have limits of their own', () => {
    const effect = { kind: 'effect', id: 'e', cls: 'once', starts: 2, again: 0 } as const;
    expect(doubled(effect)).toBe(1);
    expect(doubled({ ...effect, again: 1 })).toBe(0);
    expect(doubled({ ...effect, cls: 'repeatable' })).toBe(0);
    const count = { kind: 'count', actor: 'a', accepted: 5, unsure: 1, counted: 5 } as const;
    expect([lost(count), doubled(count)]).toEqual([0, 0]);
    expect(lost({ ...count, counted: 4 })).toBe(1);
    expect(doubled({ ...count, counted: 7 })).toBe(1);
    const run: Row = {
      kind: 'run',
      runId: 'r',
      session: 's',
      sentAt: '',
      accepted: true,
      status: 'ok',
      user: 1,
      assistant: 1,
    };
    expect([lost(run), doubled(run)]).toEqual([0, 0]);
    expect(lost({ ...run, assistant: 0 })).toBe(1);
    expect(doubled({ ...run, user: 2 })).toBe(1);
  });

  test('fails when a row was removed, and when a total does not add up', () => {
    const rows = [
      request([{ id: 'a', turns: [turn(1)] }]),
      request([], { uid: 'c1-2', outcome: 'refused' }),
    ];
    const outcome: Outcome = {
      name: 'none',
      what: 'nothing',
      seed: 1,
      startedAt: '2026-11-29T12:00:00.000Z',
      seconds: 1,
      faults: [],
      notes: [],
      messages: 1,
      requests: 2,
      unknown: 0,
      lost: [],
      doubled: [],
      other: [],
      rows,
      idAt: () => undefined,
    };
    const base = written(outcome);
    const file = `${base}.json`;
    expect(checkAccount(file).passed).toBe(true);
    const lines = readFileSync(`${base}.rows.jsonl`, 'utf8');
    writeFileSync(`${base}.rows.jsonl`, `${lines.split('\n')[0]}\n`);
    expect(checkAccount(file)).toMatchObject({
      passed: false,
      text: expect.stringContaining('"requests that clients sent" is 1 by the rows'),
    });
    const [first] = lines.split('\n');
    writeFileSync(`${base}.rows.jsonl`, `${first}\n${first}\n`);
    expect(checkAccount(file).text).toContain('has more than one row');
    writeFileSync(`${base}.rows.jsonl`, lines);
    writeFileSync(file, readFileSync(file, 'utf8').replace('"total": 2', '"total": 3'));
    expect(checkAccount(file).text).toContain('the parts of "requests that clients sent" differ');
    onTestFinished(() => rmSync(file));
  });
});
