/** ActorWatch with connections and journals that the test plays. */
import { describe, expect, it } from 'vitest';
import { ActorWatch } from '../../../../channels/gateway/streams/actor-watch.ts';
import type { EventHead } from '../../../../channels/gateway/transport/event-head.ts';
import { address } from '../../../../protocols/address.ts';
import type { ActorTurn } from '../../../../protocols/actor-view.ts';
import type { ActorTurnEvent } from '../../../../protocols/gateway/index.ts';
import type { System } from '../../../../runtime/index.ts';
import { silentLog } from '../client.ts';
import { StillClock } from '../still-clock.ts';

const ACTOR = address('default', 'session', 'agent:main:main');

class Receiver {
  lagging = false;
  readonly leases = new Set<() => void>();
  readonly received: ActorTurnEvent[] = [];
  event({ rest }: EventHead): void {
    const { payload } = JSON.parse(`{${rest.toString()}`) as { payload: ActorTurnEvent };
    this.received.push(payload);
  }
  lease(giveUp: () => void): () => void {
    this.leases.add(giveUp);
    return () => this.leases.delete(giveUp);
  }
  disconnect(): void {
    for (const giveUp of this.leases) giveUp();
  }
}

const turnOf = (turn: number): ActorTurn => ({
  turn,
  at: 0,
  input: 'a secret event',
  result: 'applied',
  sent: [],
  opened: [],
  ended: [],
});

/** Turns that the test commits, and the signals of the readers. */
class Journal {
  readonly signals: AbortSignal[] = [];
  #turns: (ActorTurn | Error)[] = [];
  #wake = () => {};
  readonly #read = async function* (this: Journal, signal: AbortSignal) {
    while (!signal.aborted) {
      for (const turn of this.#turns.splice(0)) {
        if (turn instanceof Error) throw turn;
        yield turn;
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        signal.addEventListener('abort', () => resolve());
      });
    }
  }.bind(this);

  readonly turns: System['actors']['turns'] = async (_, signal) => {
    this.signals.push(signal);
    return this.#read(signal);
  };

  async commit(...turns: (number | Error)[]): Promise<void> {
    this.#turns.push(...turns.map((turn) => (turn instanceof Error ? turn : turnOf(turn))));
    this.#wake();
    for (let n = 0; n < 3; n++) await new Promise((resolve) => setImmediate(resolve));
  }
}

const open = () => {
  const [journal, clock] = [new Journal(), new StillClock()];
  const unused = () => Promise.reject(new Error('not used'));
  const others = {
    list: unused,
    get: unused,
    history: unused,
    turn: unused,
    recording: unused,
    past: unused,
  };
  const actors = { turns: journal.turns, ...others };
  const watch = new ActorWatch({
    system: { actors },
    clock,
    log: silentLog,
    maskSecrets: (text) => text.replace('secret', '***'),
  });
  return { journal, clock, watch, receiver: new Receiver() };
};
const numbers = ({ received }: Receiver) =>
  received.map(({ turn, missed }) => [turn?.turn, ...(missed === undefined ? [] : [missed])]);

describe('a watch', () => {
  it('sends a lagging client the last turn when it has caught up, with the number of missed ones', async () => {
    const { journal, clock, watch, receiver } = open();
    await watch.watch(receiver, ACTOR);
    await journal.commit(1);
    receiver.lagging = true;
    await journal.commit(2, 3, 4);
    clock.move(1_000);
    expect(numbers(receiver)).toEqual([[1]]);
    receiver.lagging = false;
    clock.move(1_000);
    expect(numbers(receiver)).toEqual([[1], [4, 2]]);
    await journal.commit(5);
    expect(numbers(receiver).at(-1)).toEqual([5]);
  });

  it('sends the next turn instead of a held one, and counts the held one as missed', async () => {
    const { journal, clock, watch, receiver } = open();
    await watch.watch(receiver, ACTOR);
    receiver.lagging = true;
    await journal.commit(1);
    receiver.lagging = false;
    await journal.commit(2);
    clock.move(1_000);
    expect(numbers(receiver)).toEqual([[2, 1]]);
  });

  it('reads an actor once for all its watchers, and until the last one ends', async () => {
    const { journal, watch, receiver } = open();
    const other = new Receiver();
    await watch.watch(receiver, ACTOR);
    await watch.watch(receiver, ACTOR);
    await watch.watch(other, ACTOR);
    await journal.commit(1);
    expect([numbers(receiver), numbers(other)]).toEqual([[[1]], [[1]]]);
    receiver.disconnect();
    await journal.commit(2);
    expect([numbers(receiver), numbers(other)]).toEqual([[[1]], [[1], [2]]]);
    expect(journal.signals.map(({ aborted }) => aborted)).toEqual([false]);
    watch.unwatch(other, ACTOR);
    expect(journal.signals.map(({ aborted }) => aborted)).toEqual([true]);
    expect([receiver.leases.size, other.leases.size]).toEqual([0, 0]);
  });

  it('masks secrets', async () => {
    const { journal, watch, receiver } = open();
    await watch.watch(receiver, ACTOR);
    await journal.commit(1);
    expect(receiver.received[0]?.turn?.input).toBe('a *** event');
  });

  it('says why no more turns follow when the journal cannot be read, and can begin again', async () => {
    const { journal, watch, receiver } = open();
    await watch.watch(receiver, ACTOR);
    await journal.commit(new Error('the journal is gone'));
    expect(receiver.received).toEqual([{ actor: ACTOR, ended: expect.any(String) }]);
    await watch.watch(receiver, ACTOR);
    await journal.commit(7);
    expect(numbers(receiver).at(-1)).toEqual([7]);
  });
});
