/** One actor as the page follows it: bounded work and memory, however many turns come. */
import { beforeEach, expect, it, vi } from 'vitest';
import type { ActorTurn } from '../../../protocols/actor-view.ts';
import { ActorWatch, type LiveActor } from '../../../web/actors/actor-watch.ts';
import { eventually } from '../../runtime/eventually.ts';

const ACTOR = 'default/session/a';
const turnOf = (turn: number): ActorTurn => ({
  turn,
  at: turn,
  input: 'x',
  result: 'applied',
  state: `s${turn}`,
  sent: [],
  opened: [],
  ended: [],
});

/** A gateway that knows `past` turns; `frame` draws a frame. */
function follow(past: readonly ActorTurn[]) {
  const frames: (() => void)[] = [];
  vi.stubGlobal('requestAnimationFrame', (draw: () => void) => frames.push(draw));
  vi.stubGlobal('cancelAnimationFrame', () => {});
  let listen: (event: string, payload: unknown) => void = () => {};
  const answers: Readonly<Record<string, unknown>> = {
    'actors.show': { actor: ACTOR, state: 's0', status: 'active' },
    'actors.history': { turns: past.toReversed() },
  };
  const shown: LiveActor[] = [];
  const gateway = {
    request: async <R>() => ({}) as R,
    operate: async <R>(name: string) => answers[name] as R,
    watch: (given: typeof listen) => {
      listen = given;
      return () => {};
    },
  };
  const watch = new ActorWatch(gateway, ACTOR, (live) => shown.push(live));
  const frame = () => {
    for (const draw of frames.splice(0)) draw();
    return shown.at(-1);
  };
  return {
    watch,
    shown,
    frame,
    send: (turn: ActorTurn, missed = 0) => listen('actor.turn', { actor: ACTOR, turn, missed }),
  };
}

beforeEach(() => () => vi.unstubAllGlobals());

it('shows thousands of turns between two frames at once, and keeps the last 300', async () => {
  const { watch, shown, frame, send } = follow([]);
  await eventually(() => expect(frame()?.view).toBeDefined());
  const before = shown.length;
  for (let turn = 1; turn <= 5_000; turn++) send(turnOf(turn), turn === 5_000 ? 7 : 0);
  expect(shown).toHaveLength(before);
  const live = frame();
  expect(shown).toHaveLength(before + 1);
  expect(live?.turns.map(({ turn }) => turn)).toEqual(
    Array.from({ length: 300 }, (_, n) => 4_701 + n),
  );
  expect(live).toMatchObject({ missed: 7, view: { state: 's5000' } });
  watch.end();
});

it('begins with the turns of the history, and shows none twice', async () => {
  const { watch, frame, send } = follow([turnOf(3), turnOf(5), turnOf(8)]);
  await eventually(() => expect(frame()?.turns).toHaveLength(3));
  send(turnOf(8));
  send(turnOf(9));
  expect(frame()?.turns.map(({ turn }) => turn)).toEqual([3, 5, 8, 9]);
  watch.end();
});
