/**
 * The program while its disk is full: it refuses what it cannot store, keeps what it accepted, and
 * continues by itself when there is room. `TROUPE_KILL_SEED` repeats a run.
 */
import { expect, test } from 'vitest';
import type { GatewayClient } from '../../client/gateway-client.ts';
import { eventually } from '../runtime/eventually.ts';
import { emptyDisk, fillDisk, hasPrlimit } from '../runtime/log/disk-room.ts';
import { account, Conversations, OWN_RUNS } from './conversations.ts';
import { randomOf } from '../random.ts';
import { TestProgram } from './test-program.ts';

const SEED = Number(process.env['TROUPE_KILL_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const ROUNDS = 3;
const REFUSED = 5;
const REFUSED_SESSION = 'agent:main:refused';

const program = new TestProgram(`{ ${OWN_RUNS} }`);

const acceptedOf = ({ sent }: Conversations) => sent.filter(({ accepted }) => accepted).length;

const send = (client: GatewayClient, idempotencyKey: string) =>
  client.request('chat.send', {
    sessionKey: REFUSED_SESSION,
    message: 'Is there room?',
    idempotencyKey,
  });

test.skipIf(!hasPrlimit())(
  `the program on a full disk refuses messages, loses none, and continues when there is space (seed ${SEED})`,
  { timeout: 180_000 },
  async () => {
    const conversations = new Conversations(SEED, randomOf(SEED));
    for (let round = 0; round < ROUNDS; round++) {
      await program.start();
      const client = await program.connect();
      const enough = new AbortController();
      const before = acceptedOf(conversations);
      const loading = conversations.load(client, enough.signal);
      await eventually(() => expect(acceptedOf(conversations)).toBeGreaterThan(before + 10));
      fillDisk(program.pid);
      for (let n = 0; n < REFUSED; n++)
        await expect(send(client, `full-${round}-${n}`)).rejects.toMatchObject({
          code: 'UNAVAILABLE',
        });
      enough.abort();
      // A connection that ended refuses with the same code.
      expect([program.exit, client.state]).toMatchObject([null, { kind: 'open' }]);
      // In the last round the program ends on the full disk.
      if (round < ROUNDS - 1) {
        emptyDisk(program.pid);
        await loading;
        expect([program.exit, client.state]).toMatchObject([null, { kind: 'open' }]);
        await conversations.repeatUnanswered(client);
        await account(client, conversations.sent);
      }
      await program.kill();
      await loading;
    }
    await program.start();
    const client = await program.connect();
    await conversations.repeatUnanswered(client);
    await account(client, conversations.sent);
    const { messages } = await client.request('chat.history', { sessionKey: REFUSED_SESSION });
    expect(messages).toEqual([]);
  },
);
