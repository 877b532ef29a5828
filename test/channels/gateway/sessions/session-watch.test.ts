import { afterEach, expect, test } from 'vitest';
import { TroupeError } from '../../../../protocols/errors.ts';
import { MAIN } from '../client.ts';
import { closeAll, openAll } from '../opened.ts';

afterEach(closeAll);

test('a client whose subscription failed may retry, and then receives messages', async () => {
  const { client, system } = await openAll({ echo: true });
  const last = system.transcripts.last.bind(system.transcripts);
  system.transcripts.last = () =>
    Promise.reject(new TroupeError('UNAVAILABLE', 'the transcripts cannot be read now'));
  const follow = { key: MAIN };
  expect((await client.call('sessions.messages.subscribe', follow)).error).toMatchObject({
    code: 'UNAVAILABLE',
  });
  system.transcripts.last = last;
  expect((await client.call('sessions.messages.subscribe', follow)).ok).toBe(true);
  await client.call('chat.send', { sessionKey: MAIN, message: 'hi', idempotencyKey: 'r' });
  const { payload } = await client.frame(({ event }) => event === 'session.message');
  expect(payload).toMatchObject({ sessionKey: MAIN, message: { role: 'user' } });
});
