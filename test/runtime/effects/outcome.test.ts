/** Which outcomes count (E4), where two attempts of one effect report at different times. */
import { afterEach, expect, it } from 'vitest';
import { address, shardOf } from '../../../protocols/address.ts';
import { mailboxSubject } from '../../../protocols/subjects.ts';
import { MemoryBlobs } from '../../../runtime/blobs/memory.ts';
import { InProcessBus } from '../../../runtime/bus/in-process.ts';
import { createSystem, type System, systemClock } from '../../../runtime/index.ts';
import { createMemoryStore } from '../../../runtime/log/memory.ts';
import { encodeMail, type Outcome } from '../../../runtime/shard/commit/records.ts';
import { eventually } from '../eventually.ts';
import { type Hands, type Known, puppetType } from '../system/puppet.ts';

const principal = { sub: 'ada', roles: ['user'] };
const a = address('t', 'puppet', 'a');
const store = createMemoryStore({ clock: systemClock });
let system: System;
afterEach(() => system.stop());

it('an outcome of another attempt changes nothing, unless it is a success', async () => {
  const begun: string[] = [];
  const services: Hands = {
    run: (_, { id, signal }) => {
      begun.push(id.slice(id.indexOf(':') + 1));
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('aborted')));
      });
    },
  };
  const { log, state, cell } = store;
  system = await createSystem({
    actors: [puppetType()],
    store: { log, state, cell, close: async () => {} },
    bus: new InProcessBus(),
    blobs: new MemoryBlobs(),
    services,
    shards: 1,
  });
  const received = () => (system.inspect(a)?.context as Known | undefined)?.received;
  const report = (intent: string, attempt: number, outcome: Outcome) =>
    log.append(
      mailboxSubject('local', shardOf(a, 1), 'data'),
      encodeMail({ kind: 'outcome', cell, intent, attempt, outcome }),
    );
  const ask = (event: { type: string; cls?: string }) =>
    system.ask(a, event, { principal, timeoutMs: 10_000 });

  await ask({ type: 'work', cls: 'once' });
  await eventually(() => expect(begun).toHaveLength(1));
  const failed: Outcome = { kind: 'failed', error: { code: 'INTERNAL', message: 'of another' } };
  await report(begun[0]!, 7, failed);
  await report('no such intent', 1, { kind: 'done', output: 'lost' });
  await ask({ type: 'do' });
  expect(received()).toEqual([]);
  await report(begun[0]!, 7, { kind: 'done', output: 'known after all' });
  await eventually(() => expect(received()).toMatchObject([{ output: 'known after all' }]));
  await report(begun[0]!, 1, failed);
  await ask({ type: 'do' });
  expect(received()).toHaveLength(1);
});
