/**
 * A system in a separate process that its actors and effects may kill: embedded, or a worker of a
 * cluster on the given NATS server. Prints `ready`, then reads calls as JSON lines and writes a
 * response to each.
 */
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Address } from '../../../protocols/address.ts';
import type { Message } from '../../../protocols/statechart.ts';
import {
  createSystem,
  openEmbedded,
  openNats,
  openStateCache,
  type SendOptions,
} from '../../../runtime/index.ts';
import { bossType, type Hands, puppetType } from './puppet.ts';

const [path = '', url] = process.argv.slice(2);
const shards = 2;

/** One worker, so that only the journal records that a message killed the previous process. */
const openWorker = async (server: string) => {
  const env = basename(path).toLowerCase();
  const ports = await openNats({
    servers: [server],
    env,
    shards,
    state: (cell) => openStateCache({ path: join(path, 'rows'), cell }),
    onAlarm: () => {},
  });
  const cluster = {
    role: 'worker',
    name: 'ann',
    version: '0',
    timings: { heartbeatMs: 25 },
  } as const;
  return { ...ports, env, cluster };
};

/** Effects that end the process if their input requests it. */
const hands: Hands = {
  run: async (input, { attempt }) => {
    const { kills = [], ms = 0 } = (input ?? {}) as { kills?: readonly number[]; ms?: number };
    await new Promise((resolve) => setTimeout(resolve, ms));
    if (kills.includes(attempt)) process.kill(process.pid, 'SIGKILL');
    return { attempt, ...(input as object) };
  },
};

const system = await createSystem({
  actors: [puppetType(), bossType()],
  services: hands,
  shards,
  ...(url === undefined ? await openEmbedded({ path }) : await openWorker(url)),
});

type Calls = {
  tell: [Address, Message, SendOptions];
  ask: [Address, Message, SendOptions & { timeoutMs: number }];
  inspect: [Address];
  letters: [];
  unknown: [];
  decide: [string, { kind: 'again' }];
  stop: [];
};
const calls: { [Name in keyof Calls]: (...args: Calls[Name]) => unknown } = {
  tell: (...args) => system.tell(...args),
  ask: (...args) => system.ask(...args),
  inspect: (actor) => system.inspect(actor) ?? null,
  letters: async () =>
    Promise.all(
      (await system.deadLetters.list()).map(({ position }) => system.deadLetters.get(position)),
    ),
  unknown: () => system.unknownEffects(),
  decide: (...args) => system.decide(...args),
  stop: () => system.stop(),
};

const say = (what: unknown): void => void process.stdout.write(`${JSON.stringify(what)}\n`);
say('ready');
for await (const line of createInterface({ input: process.stdin })) {
  const { n, name, args } = JSON.parse(line) as { n: number; name: keyof Calls; args: never[] };
  const call: (...args: never[]) => unknown = calls[name];
  void Promise.resolve(call(...args)).then((answer) => say({ n, answer }));
}
