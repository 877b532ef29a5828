/**
 * A system under a flood of messages, to be killed: puppets forward messages to puppets on other
 * shards. Prints the number of every accepted message, one per line.
 */
import { address } from '../../../protocols/address.ts';
import { createSystem, openEmbedded } from '../../../runtime/index.ts';
import { puppetType } from '../system/puppet.ts';
import { RECEIVERS, SENDERS } from './flood.ts';

const user = { sub: 'ada', roles: ['user'] };
const puppet = (key: string) => address('t', 'puppet', key);

/** A receiver writes its list of received messages in each turn, so the list must stay small. */
const MESSAGES = 2_500;

const [path] = process.argv.slice(2);
const system = await createSystem({
  actors: [puppetType()],
  shards: 4,
  ...(await openEmbedded({ path: path! })),
});
const tells = (n: number) =>
  RECEIVERS.map((key) => ({ to: puppet(key), event: { type: 'notify', n } }));
for (let n = 0; n < MESSAGES; n++) {
  const sender = SENDERS[n % SENDERS.length]!;
  const event = { type: 'do', n, tells: tells(n), appends: [{ type: 'said', n }], answer: 'never' };
  void system.tell(puppet(sender), event, { principal: user }).then(({ kind }) => {
    if (kind === 'accepted') process.stdout.write(`${n}\n`);
  });
  if (n % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
}
