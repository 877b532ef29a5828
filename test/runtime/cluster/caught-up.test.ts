/**
 * Reads that must include all earlier writes, on a node whose replicas are behind. Would catch a
 * reader that treats a row that has not arrived yet as absent.
 */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { TroupeError } from '../../../protocols/errors.ts';
import type { Log } from '../../../runtime/log/log.ts';
import { eventually } from '../eventually.ts';
import { ask, ClusterWorld, known, puppet } from './world.ts';

let world: ClusterWorld;
beforeEach(() => {
  world = new ClusterWorld();
});
afterEach(() => world.close());

/** A log whose followers receive no new entries while it is held. */
class HeldLog {
  #released = Promise.resolve();
  #release = () => {};
  broken = false;

  hold(): void {
    this.#released = new Promise((resolve) => {
      this.#release = resolve;
    });
  }

  release(): void {
    this.#release();
  }

  readonly around = (log: Log): Log => {
    const follow: Log['follow'] = (subject, from) => {
      const real = log.follow(subject, from);
      const next = async () => {
        const entries = await real.next();
        await this.#released;
        return entries;
      };
      return { next, close: () => real.close(), pending: 0 };
    };
    const last: Log['last'] = (subject) =>
      this.broken
        ? Promise.reject(new TroupeError('UNAVAILABLE', 'the log is away'))
        : log.last(subject);
    return new Proxy(log, {
      get: (target, name) => {
        if (name === 'follow') return follow;
        if (name === 'last') return last;
        const value: unknown = Reflect.get(target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  };
}

it('a reader that requests current rows waits until they have arrived, and no longer', async () => {
  const held = new HeldLog();
  const worker = await world.worker('a');
  const gateway = await world.gateway('g', { aroundLog: held.around });
  const p = puppet('p');
  await ask(worker, p, { type: 'do', keeps: 'first' });
  await eventually(() => expect(known(gateway, p).keeps).toBe('first'));
  await gateway.caughtUp(p);

  held.hold();
  await ask(worker, p, { type: 'do', keeps: 'second' });
  let reached = false;
  const waiting = gateway.caughtUp(p).then(() => {
    reached = true;
  });
  // the owner of the actor has nothing to wait for
  await worker.caughtUp(p);
  expect(known(worker, p).keeps).toBe('second');
  expect([reached, known(gateway, p).keeps]).toEqual([false, 'first']);
  held.release();
  await waiting;
  expect(known(gateway, p).keeps).toBe('second');
  await gateway.caughtUp(puppet('without messages'));
});

it('reports an error when the log cannot return its last position', async () => {
  const held = new HeldLog();
  await world.worker('a');
  const gateway = await world.gateway('g', { aroundLog: held.around });
  held.broken = true;
  await expect(gateway.caughtUp(puppet('p'))).rejects.toMatchObject({ code: 'UNAVAILABLE' });
});
