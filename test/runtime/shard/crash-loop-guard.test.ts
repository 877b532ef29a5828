/**
 * An input that kills its process is identified, and ends as poison without killing again (K).
 */
import { describe, expect, it } from 'vitest';
import { address, type Address } from '../../../protocols/address.ts';
import { journalSubject } from '../../../protocols/subjects.ts';
import type { Limits } from '../../../runtime/shard/limits.ts';
import { decodeRecord } from '../../../runtime/shard/commit/records.ts';
import type { Command } from '../../sim/actors.ts';
import { Cluster } from '../../sim/cluster.ts';
import { Random } from '../../../library/simulation/random.ts';
import { SIM_ENV } from '../../sim/worker.ts';

const SENDER = address('t', 'plain', 'sender');
const KILLED = address('t', 'resume', 'killed');
const OTHER = address('t', 'plain', 'other');
const LIMIT_MS = 60_000;
/** Messages to another actor after the one that kills: more than the guard stays active for. */
const OTHERS = 8;

/** One shard, one machine that restarts after each crash, and no other fault. */
function start(limits: Partial<Limits>, isEmbedded: boolean) {
  const cluster = new Cluster({
    random: new Random(7),
    ...(isEmbedded ? { durability: 'process' } : {}),
    shards: 1,
    workers: 1,
    limits,
    snapshotEvery: 1_000,
    journalTail: 1_000,
    keepsDisk: true,
  });
  const { clock, auditor } = cluster;
  cluster.start();
  let messages = 0;
  const tell = async (to: Address, event: Command) => {
    const until = clock.monotonicMs() + LIMIT_MS;
    await clock.run(until, () => cluster.ownerOf(0) !== undefined);
    await clock.run(until + LIMIT_MS, () => cluster.workers.length > 0);
    const uid = `message ${++messages}`;
    auditor.request({ uid, client: uid, seq: 1, to, keyed: false, outcome: 'accepted' });
    const { entryPoint } = cluster.workers[0]!;
    void entryPoint.tell(to, { ...event, uid }, { principal: { sub: 'c', roles: [] } });
  };
  return { cluster, clock, tell };
}

const DEADLY: Command = { type: 'hard', kills: true };

async function run(crashWindowMs: number, isEmbedded: boolean) {
  const { cluster, clock, tell } = start({ crashWindowMs, carefulTurns: 4 }, isEmbedded);
  await tell(SENDER, { type: 'hard', tells: [{ to: KILLED, event: DEADLY }] });
  await clock.run(LIMIT_MS);
  for (let i = 0; i < OTHERS; i++) await tell(OTHER, { type: 'hard' });
  await tell(KILLED, { type: 'hard' });
  await clock.run(clock.monotonicMs() + LIMIT_MS);
  return ended(cluster);
}

async function ended(cluster: Cluster) {
  const records = await read(cluster);
  const crashes = cluster.trace.filter((line) => line.endsWith('crashes')).length;
  cluster.stop();
  return { cluster, records, crashes };
}

/** Two crashes that no input causes, turns for over a second, and then an input that does. */
async function runLate(isEmbedded: boolean) {
  const { cluster, clock, tell } = start({ crashWindowMs: 120_000 }, isEmbedded);
  const forMs = (ms: number) => clock.run(clock.monotonicMs() + ms);
  for (let crash = 0; crash < 2; crash++) {
    await tell(OTHER, { type: 'hard' });
    await forMs(1_000);
    cluster.crash(0);
  }
  for (let i = 0; i < OTHERS; i++) {
    await tell(OTHER, { type: 'hard' });
    await forMs(200);
  }
  await tell(KILLED, DEADLY);
  await forMs(2 * LIMIT_MS);
  return ended(cluster);
}

/** The complete journal, which these runs do not trim. */
async function read({ storedLog, clock }: Cluster) {
  const entries = storedLog.read(journalSubject(SIM_ENV, 0), 1, { limit: 1_000 });
  let over = false;
  void entries.finally(() => (over = true));
  await clock.run(clock.monotonicMs() + 1_000, () => over);
  return (await entries).map(({ bytes }) => decodeRecord(bytes));
}

const turnsOf = (records: Awaited<ReturnType<typeof read>>) =>
  records.flatMap((record) => (record.t === 'TURNS' ? record.turns : []));

describe.each([
  ['an embedded store', true],
  ['a cluster', false],
])('on %s, an input that kills its process', (_, isEmbedded) => {
  it('is tried three times in a record of its own, then it is poison and the shard continues', async () => {
    const { cluster, records, crashes } = await run(120_000, isEmbedded);
    const poison = turnsOf(records).find(({ result }) => result === 'poison')!;
    expect(poison).toMatchObject({ actor: KILLED });
    const tries = records.filter((record) => record.t === 'TRY' && record.input === poison.input);
    expect(tries).toHaveLength(3);
    // Twice before the guard was active, and three times in a record of its own.
    expect(crashes).toBe(5);
    const applied = (actor: Address) =>
      turnsOf(records).filter((turn) => turn.actor === actor && turn.result === 'applied').length;
    expect(applied(OTHER)).toBe(OTHERS);
    expect(applied(KILLED)).toBe(1);
    expect(cluster.auditor.faults).toEqual([]);
  });

  it('is a dead letter as poison, and its sender is notified', async () => {
    const { cluster, records } = await run(120_000, isEmbedded);
    const poison = turnsOf(records).find(({ result }) => result === 'poison')!;
    const sent = poison.out.map(([target, , , item]) => [target, item.to, item.event.type]);
    expect(sent).toContainEqual([0, SENDER, 'refused']);
    expect(sent).toContainEqual(['dlq', KILLED, 'deadLetter']);
    const letters = [...cluster.auditor.ledger.kept.values()].flat();
    expect(letters.map(({ event }) => event['reason'])).toEqual(['POISON']);
  });

  it('is followed by inputs of which only the first are announced', async () => {
    const { records } = await run(120_000, isEmbedded);
    const announced = new Set(
      records.flatMap((record) => (record.t === 'TRY' ? record.input : [])),
    );
    const others = turnsOf(records).filter(({ actor }) => actor === OTHER);
    expect(announced.has(others[0]!.input)).toBe(true);
    expect(announced.has(others.at(-1)!.input)).toBe(false);
  });
});

it.each([
  ['an embedded store', true],
  ['a cluster', false],
])(
  'on %s, an input that comes when the guard has ended by time is found after the third unclean start',
  async (_, isEmbedded) => {
    const { cluster, records, crashes } = await runLate(isEmbedded);
    const poison = turnsOf(records).find(({ result }) => result === 'poison')!;
    expect(poison).toMatchObject({ actor: KILLED });
    const tries = records.filter((record) => record.t === 'TRY' && record.input === poison.input);
    expect(tries).toHaveLength(3);
    // Two for other reasons, one of the input while no guard was active, and three announced ones.
    expect(crashes).toBe(6);
    expect(cluster.auditor.faults).toEqual([]);
  },
);

it('crashes for other reasons, far apart, do not activate the guard', async () => {
  const { records } = await run(0, true);
  expect(records.some(({ t }) => t === 'TRY')).toBe(false);
});
