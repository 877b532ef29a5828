/**
 * How many turns a second agents complete that exchange replies: pairs of agents, each with one
 * conversation of a first answer and five replies, all at once, on the built program with the
 * offline model. A turn is a run of the session whose turn it is, with the conversation's step
 * before it.
 */
import { processorTimeOf } from './harness/computer.ts';
import { configurePairs, exchange, type Exchanged, TURNS } from './harness/pairs.ts';
import { startProgram } from './harness/program.ts';
import { rawAppend } from './harness/raw.ts';
import { defineScenario } from './harness/scenario.ts';
import { spread } from './harness/statistics.ts';

export const PAIRS = 64;
/**
 * Frames in sequence of a turn: the conversation's, whose message begins the run, and the run's.
 */
const APPENDS = 1 + 3;

export const pingpong = defineScenario({
  name: 'pingpong',
  question: 'how many turns a second do pairs of agents exchange, and how long does one take?',
  needsProgram: true,
  secondsMax: 300,
  figures: {
    turnsPerSecond: { label: `turns of ${PAIRS} pairs at once`, unit: '1/s' },
    turnP50Ms: { label: '  one turn then, p50', unit: 'ms', limit: 'appendsMs' },
    turnP99Ms: { label: '  p99', unit: 'ms', limit: 'appendsMs' },
    aloneP50Ms: { label: 'one turn of one pair alone, p50', unit: 'ms', limit: 'appendsMs' },
    aloneP99Ms: { label: '  p99', unit: 'ms', limit: 'appendsMs' },
    appendsMs: { label: `  limit: ${APPENDS} appends in a row, p50`, unit: 'ms' },
    threadMs: { label: 'processor time of a turn, JavaScript thread', unit: 'ms' },
  },
  async measure({ folder, pick }) {
    const pairs = pick(PAIRS, PAIRS, 2);
    const appends = await rawAppend(folder, pick(200, 100, 5), { inARow: APPENDS });
    await configurePairs(folder, pairs);
    const program = await startProgram(folder);
    const client = await program.connect();
    await exchange(program, client, pairs);
    const before = processorTimeOf(program.pid).mainMs;
    const all: Exchanged[] = [];
    for (let round = 0; round < pick(8, 4, 1); round++)
      all.push(await exchange(program, client, pairs));
    const threadMs = processorTimeOf(program.pid).mainMs - before;
    const alone: Exchanged[] = [];
    for (let round = 0; round < pick(30, 10, 1); round++)
      alone.push(await exchange(program, client, 1));
    client.close();
    await program.stop();
    const together = turnsOf(all);
    const single = spread(alone.flatMap(({ turnMs }) => turnMs));
    return {
      turnsPerSecond: together.perSecond,
      turnP50Ms: together.p50,
      turnP99Ms: together.p99,
      aloneP50Ms: single.p50,
      aloneP99Ms: single.p99,
      appendsMs: appends.p50,
      threadMs: threadMs / (all.length * pairs * TURNS),
    };
  },
});

/** The figures of several rounds, one after the other. */
export function turnsOf(all: readonly Exchanged[]) {
  const turns = all.reduce((sum, one) => sum + one.turns, 0);
  const seconds = all.reduce((sum, one) => sum + one.seconds, 0);
  return { perSecond: turns / seconds, ...spread(all.flatMap(({ turnMs }) => turnMs)) };
}
