/** Appends to the embedded store while its log is being synced, on a simulated disk. */
import { describe, expect, it } from 'vitest';
import { entriesOf } from '../../../runtime/log/wal/frame.ts';
import { eventually } from '../eventually.ts';
import { SimulatedDisk } from './simulated-disk.ts';
import { bytes, newest, open, texts } from './store-on-disk.ts';

describe('while a sync is running', () => {
  /** A store whose first sync is held; `goOn` releases the oldest held operation but that sync. */
  const held = async () => {
    const disk = new SimulatedDisk();
    const store = await open(disk, { isLazy: false });
    const gates: (() => void)[] = [];
    disk.delay = () => new Promise((resolve) => gates.push(resolve));
    await store.log.append('s', Buffer.from('a'));
    await eventually(() => expect(gates).toHaveLength(1));
    const goOn = async () => {
      await eventually(() => expect(gates.length).toBeGreaterThan(1));
      gates.splice(1, 1)[0]!();
    };
    const release = () => {
      disk.delay = async () => {};
      for (const gate of gates.splice(0)) gate();
    };
    return { disk, ...store, goOn, release };
  };

  // A write that the kernel holds would hold timers and sockets, too.
  it('a thread writes the frame; the append is answered and visible after that', async () => {
    const { disk, log, goOn } = await held();
    const before = newest(disk).bytes.length;
    let isAnswered = false;
    const append = log.append('s', Buffer.from('b')).then(() => (isAnswered = true));
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect([isAnswered, await texts(log)]).toEqual([false, ['a']]);
    expect(newest(disk).bytes.length).toBe(before);
    await goOn();
    await append;
    expect(await texts(log)).toEqual(['a', 'b']);
  });

  it('appends that arrive during a write share the next frame, in their order', async () => {
    const { disk, log, goOn } = await held();
    const frames: number[] = [];
    disk.onFrame = (frame) => frames.push([...entriesOf(frame)].length);
    const first = log.append('s', Buffer.from('b'));
    await new Promise((resolve) => setImmediate(resolve));
    const rest = ['c', 'd', 'e'].map((text) => log.append('s', Buffer.from(text)));
    await goOn();
    await goOn();
    await Promise.all([first, ...rest]);
    expect(await texts(log)).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(frames).toEqual([1, 3]);
  });

  it('a write that fails is refused, and its position is assigned to the next append', async () => {
    const { disk, log, goOn, release } = await held();
    disk.nextWrite = 'short';
    const failed = log.append('s', bytes, { expectedLast: 1 });
    const next = log.append('s', Buffer.from('b'));
    await Promise.all([goOn(), expect(failed).rejects.toMatchObject({ code: 'UNAVAILABLE' })]);
    await expect(next).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    const again = log.append('s', Buffer.from('c'), { expectedLast: 1 });
    await goOn();
    expect(await again).toMatchObject({ position: 2 });
    release();
    disk.kill();
    expect(await texts((await open(disk)).log)).toEqual(['a', 'c']);
  });

  it('close waits for the write, and for the appends behind it', async () => {
    const { disk, log, close, release } = await held();
    const appends = [log.append('s', Buffer.from('b'))];
    await new Promise((resolve) => setImmediate(resolve));
    appends.push(log.append('s', Buffer.from('c')));
    const closed = close();
    release();
    await Promise.all(appends);
    await closed;
    expect(await texts((await open(disk)).log)).toEqual(['a', 'b', 'c']);
  });
});
