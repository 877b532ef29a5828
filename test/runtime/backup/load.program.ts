/** A system under load until it is killed. Prints the number of every accepted message. */
import { address } from '../../../protocols/address.ts';
import { createSystem, openEmbedded } from '../../../runtime/index.ts';
import { puppetType } from '../system/puppet.ts';

const user = { sub: 'ada', roles: ['user'] };
const [path] = process.argv.slice(2);
const system = await createSystem({
  actors: [puppetType()],
  shards: 4,
  ...(await openEmbedded({ path: path! })),
});
for (let n = 0; ; n++) {
  // Many senders: a puppet's row contains all that it has seen.
  const key = `s${n % 97}`;
  const tells = [{ to: address('t', 'puppet', `r${n % 101}`), event: { type: 'notify', n } }];
  const event = { type: 'do', n, tells, appends: [{ type: 'said', n }], answer: 'never' };
  const answer = system.tell(address('t', 'puppet', key), event, { principal: user });
  void answer.then(({ kind }) => {
    if (kind === 'accepted') process.stdout.write(`${n}\n`);
  });
  if (n % 4 === 0) await new Promise((resolve) => setTimeout(resolve, 10));
}
