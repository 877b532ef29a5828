/**
 * The bug this would catch: a new owner reported a lag of 0 until it had looked at its mailbox, so
 * a test that waited for 0 believed that every message had its turn.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createSystem, openEmbedded } from '../../../runtime/index.ts';
import type { Follow, LogEntry, Position } from '../../../runtime/log/log.ts';
import { eventually } from '../eventually.ts';
import { ada, lamp, lampType } from '../history/lamps.ts';
import { ForwardingLog } from '../log/forwarding-log.ts';

/** No owner reads a mailbox until `open`. */
class HeldMailboxes extends ForwardingLog {
  open = () => {};
  readonly #opened = new Promise<void>((resolve) => (this.open = resolve));

  protected seen(_subject: string, entry: LogEntry): LogEntry {
    return entry;
  }

  override follow(subject: string, from: Position): Follow {
    const follow = super.follow(subject, from);
    if (!subject.startsWith('mbx.')) return follow;
    const opened = this.#opened;
    return {
      next: () => opened.then(() => follow.next()),
      get pending() {
        return follow.pending;
      },
      close: () => follow.close(),
    };
  }
}

it('an owner that has not read its mailbox says that its lag is unknown', async () => {
  const path = mkdtempSync(join(tmpdir(), 'troupe-lag-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  const start = async () => {
    const ports = await openEmbedded({ path });
    const log = new HeldMailboxes(ports.store.log);
    const store = { ...ports.store, log };
    const system = await createSystem({ ...ports, store, actors: [lampType('full')], shards: 1 });
    const status = () => system.status()[0]!;
    await eventually(() => expect(status().state).toBe('owned'));
    return { system, log, status };
  };
  const first = await start();
  first.log.open();
  await first.system.tell(lamp(0), { type: 'ring' }, ada);
  await eventually(() => expect(first.system.inspect(lamp(0))).toBeDefined());
  await first.system.stop();
  const second = await start();
  await Promise.all([1, 2, 3].map(() => second.system.tell(lamp(0), { type: 'ring' }, ada)));
  await second.system.stop();

  const { system, log, status } = await start();
  onTestFinished(() => system.stop());
  const { turnNo } = status();
  expect(status()).toMatchObject({ lagUnknown: true });
  const listed = async () => (await system.actors.list('t'))[0]!;
  expect(await listed()).toMatchObject({ shardLagUnknown: true });
  log.open();
  await eventually(() => expect(status()).not.toHaveProperty('lagUnknown'));
  await eventually(() => {
    expect(status().lag).toBe(0);
    expect(status().turnNo).toBeGreaterThanOrEqual(turnNo + 3);
  });
  expect(await listed()).not.toHaveProperty('shardLagUnknown');
});
