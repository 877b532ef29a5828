/**
 * A system in a process of its own, which its actors and effects may kill. Reads calls as JSON
 * lines and writes an answer to each; says `ready` first.
 */
import { createInterface } from 'node:readline';
import type { Address } from '../../../protocols/address.ts';
import type { Message } from '../../../protocols/statechart.ts';
import { createSystem, openEmbedded, type SendOptions } from '../../../runtime/index.ts';
import { bossType, type Hands, puppetType } from './puppet.ts';

const [path] = process.argv.slice(2);

/** Effects that end the process where their input says so. */
const hands: Hands = {
  run: async (input, { attempt }) => {
    const { kills = [] } = (input ?? {}) as { kills?: readonly number[] };
    if (kills.includes(attempt)) process.kill(process.pid, 'SIGKILL');
    return { attempt };
  },
};

const system = await createSystem({
  actors: [puppetType(), bossType()],
  services: hands,
  shards: 2,
  ...(await openEmbedded({ path: path! })),
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
  letters: () => system.deadLetters.list(),
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
