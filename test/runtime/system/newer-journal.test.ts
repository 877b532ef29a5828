/**
 * A folder that a newer program has used: an older one stops the shards that it cannot read, and
 * changes nothing in them. Embedded only: an older worker of a cluster releases such a shard to a
 * newer one (`newer-worker.test.ts`).
 */
import { expect, it } from 'vitest';
import { type Address, shardOf } from '../../../protocols/address.ts';
import { journalSubject } from '../../../protocols/subjects.ts';
import type { Log } from '../../../runtime/log/log.ts';
import { eventually } from '../eventually.ts';
import { NewerProgramLog } from './newer-program.ts';
import { openWorld, puppet } from './world.ts';

const SHARDS = 2;
const at = (shard: number): Address => {
  for (let n = 0; ; n++) if (shardOf(puppet(`p${n}`), SHARDS) === shard) return puppet(`p${n}`);
};
const JOURNAL = journalSubject('local', 0);

it('stops the shard with the position and the reason, and the newer program continues', async () => {
  let log: Log | undefined;
  const newer = {
    aroundLog: (inner: Log) =>
      new NewerProgramLog(inner, { writes: (to) => to === JOURNAL, reads: true }),
  };
  const older = { aroundLog: (inner: Log) => (log = inner) };
  const world = await openWorld({ shards: SHARDS, ...newer });
  await world.ask(at(0), { type: 'do', n: 1 }, { key: 'k' });
  await world.ask(at(1), { type: 'do', n: 1 });
  let last = 0;
  for (let time = 0; time < 2; time++) {
    await world.restart(older);
    const [stopped, owned] = world.system.status();
    expect(stopped).toMatchObject({ state: 'quarantined', formatNeeded: 2 });
    expect(stopped?.why).toMatch(/journal record \(position \d+\) has format 2/);
    expect(owned?.state).toBe('owned');
    expect(await world.tell(at(0), { type: 'do', n: 2 })).toMatchObject({
      kind: 'refused',
      error: { code: 'UNAVAILABLE' },
    });
    expect(await world.ask(at(1), { type: 'do', n: 2 + time })).toMatchObject({ kind: 'answered' });
    const stored = await log!.last(JOURNAL);
    if (time > 0) expect(stored).toBe(last);
    last = stored;
  }
  const tells = [{ to: at(0), event: { type: 'do', n: 'meanwhile' } }];
  await world.ask(at(1), { type: 'do', n: 4, tells });
  await world.restart(newer);
  await world.ask(at(0), { type: 'do', n: 1 }, { key: 'k' });
  await eventually(() => expect(world.seen(at(0))).toEqual(['do:1', 'do:meanwhile']));
  expect(world.seen(at(1))).toEqual(['do:1', 'do:2', 'do:3', 'do:4']);
});
