/**
 * As held-runs.test.ts, in a cluster on NATS. All sessions are on one worker. That worker is
 * killed, two others take over its shards, and the gateway's client only notices a delay.
 */
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { shardOf } from '../../../protocols/address.ts';
import { eventually } from '../../runtime/eventually.ts';
import { connectTo } from '../conversations.ts';
import { HeldRuns, STATES } from './held-runs.ts';
import { describeWithNats, TestCluster, WORKERS } from '../test-cluster.ts';

const VICTIM = 'bob';
/** Time between two reads of the states, which read a row of each session over NATS. */
const LOOK_MS = 200;

let held: HeldRuns | undefined;
const cluster = new TestCluster((data) => held!.configure(data));
afterAll(() => held?.model.close());

const shardsOf = (name: string, owners: readonly (string | undefined)[]): readonly number[] =>
  owners.flatMap((owner, shard) => (owner === name ? [shard] : []));

describeWithNats(`a cluster of ${WORKERS.length} workers`, () => {
  test('ends each run once whose worker was killed in a state of the statechart', {
    timeout: 180_000,
  }, async () => {
    held = await HeldRuns.open(join(cluster.folder, 'shared'));
    await cluster.start();
    const client = await connectTo(cluster.url);
    const stored = await cluster.openStore();
    const shards = shardsOf(VICTIM, await cluster.stableOwners());
    held.place((session) => shards.includes(shardOf(session, stored.shards)));

    const finals: string[] = [];
    client.on('chat', ({ runId, state }) => void (state === 'final' && finals.push(runId)));
    const { collecting: _, 'backing-off': __, ...still } = STATES;
    const states = async () => {
      await pause(LOOK_MS);
      return held!.states(stored);
    };
    await held.begin(client, () =>
      eventually(async () => expect(await states()).toMatchObject(still)),
    );
    await eventually(async () => expect(await states()).toEqual(STATES));
    expect(shardsOf(VICTIM, stored.owners()), 'no shard has moved').toEqual(shards);
    held.release();
    await cluster.kill(VICTIM);

    await held.end(client);
    await held.account(stored);
    expect(finals.toSorted(), 'each reply is sent once').toEqual([...new Set(finals)].toSorted());
    expect(finals).toEqual(expect.arrayContaining([...held.runIds()]));

    await held.hurry(client);
    await cluster.kill('ann');
    await held.accountOfHurried(client, () => Promise.resolve(stored));
    client.close();
  });
});
