/**
 * The built program as a cluster, `troupe worker` and `troupe gateway`, with users who send
 * messages to agents while workers and the gateway are killed or replaced. The cell, the users and
 * the account are those of `troupe bench faults`.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type OwnCell, startOwnCell } from '../../cli/bench/faults/own-cell.ts';
import { accountOf, type Line } from '../../loadtest/faults/account.ts';
import { type Cell, GATEWAY } from '../../loadtest/faults/cell.ts';
import { Chronicle } from '../../loadtest/faults/chronicle.ts';
import type { Finding } from '../../loadtest/faults/document.ts';
import { People } from '../../loadtest/faults/people.ts';
import { scriptOf } from '../../loadtest/model-server/script.ts';
import { startModelServer } from '../../loadtest/model-server/server.ts';
import { Random } from '../../library/simulation/random.ts';
import { natsServers } from '../../test/servers/nats.ts';
import { ensureBuilt } from '../harness/program.ts';
import type { Outcome, StageOptions } from './stage.ts';

const WORKERS = 3;
const SESSIONS = Array.from({ length: 6 }, (_, n) => `agent:main:faults-${n}`);
/** Share of the kills that hit the gateway. */
const GATEWAY_SHARE = 0.3;
const SETTLE_MS = 120_000;
const bundle = fileURLToPath(new URL('../../dist/troupe.js', import.meta.url));

/** What happens to the cluster during the conversations. */
export type Act = (stage: {
  readonly cell: Cell;
  readonly random: Random;
  readonly chronicle: Chronicle;
  readonly say: (what: string) => void;
}) => Promise<void>;

export function conversations(kills: number, options: StageOptions): Promise<Outcome> {
  const what = `${kills} kills -9 of workers and gateway of the program, in conversations`;
  return underConversations({ name: 'conversations', what }, options, async (stage) => {
    const { cell, random, chronicle, say } = stage;
    for (let kill = 1; kill <= kills; kill++) {
      await sleep(random.whole(200, 2_000));
      const name = random.chance(GATEWAY_SHARE) ? GATEWAY : random.pick(cell.workers);
      say(`kill -9 of ${name}, ${kill} of ${kills}`);
      const fault = chronicle.begin(`kill -9 of ${name}`);
      await cell.process(name).end();
      await cell.start(name);
      fault.ended();
    }
  });
}

/** Starts the program as a cluster with people who talk, and accounts for their messages. */
export async function underConversations(
  scenario: Pick<Outcome, 'name' | 'what'>,
  { seed, say }: StageOptions,
  act: Act,
): Promise<Outcome> {
  ensureBuilt();
  const begun = performance.now();
  const startedAt = new Date().toISOString();
  const chronicle = new Chronicle();
  const random = new Random(seed);
  const notes: string[] = [];
  const script = scriptOf({ latency: '20ms', tokens: '60', pace: '300' });
  const model = await startModelServer({ script, seed, port: 0 });
  const end = new AbortController();
  const { signal } = end;
  const cluster = { nats: natsServers().at(-1)!, workers: WORKERS };
  const onCrash = (name: string, how: string) => void notes.push(`${name} ended by itself: ${how}`);
  let own: OwnCell | undefined;
  try {
    own = await startOwnCell({ script: bundle, model, cluster, onCrash }, signal);
    const { cell, client } = own;
    const people = new People({ client, prefix: `run-${seed}`, signal });
    const enough = new AbortController();
    const talking = talk(people, random.fork('people'), enough.signal);
    await act({ cell, random, chronicle, say });
    enough.abort();
    await talking;
    await cell.ready();
    const late = setTimeout(() => end.abort(), SETTLE_MS);
    await people.settled();
    clearTimeout(late);
    say('all is calm: the account is made');
    const transcripts = new Map<string, readonly Line[]>();
    for (const session of SESSIONS) transcripts.set(session, await people.transcript(session));
    const collected = { messages: people.sent, transcripts, tasks: [], shownTasks: new Map() };
    const { findings, rows, lines: messages } = accountOf(collected);
    const texts = (kind: Finding['kind']) =>
      findings.filter((one) => one.kind === kind).map(({ text }) => text);
    const wrong = { lost: texts('lost'), doubled: texts('doubled'), other: texts('other') };
    const figures = { messages, requests: people.sent.length, unknown: 0, rows };
    const seconds = (performance.now() - begun) / 1_000;
    const { faults } = chronicle;
    const idAt = () => undefined;
    return { ...scenario, ...wrong, ...figures, seed, startedAt, seconds, faults, notes, idAt };
  } finally {
    end.abort();
    await own?.stop();
    await model.close();
  }
}

async function talk(people: People, random: Random, enough: AbortSignal): Promise<void> {
  while (!enough.aborted) {
    void people.send(random.pick(SESSIONS));
    await sleep(random.whole(50, 400));
  }
}
