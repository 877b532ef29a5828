/** NatsLog when the rights of its NATS user change while it runs. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startNats } from '../../servers/nats.ts';
import { eventually } from '../eventually.ts';
import { connectTo, makeStream, onEveryNats, openLog } from './nats-under-test.ts';

const user = (denied: string) =>
  'no_auth_user: worker\n' +
  `authorization { users: [{ user: worker, password: x, permissions: { subscribe: { deny: "${denied}" } } }] }`;

// Bug hunted: once the right was taken, every read and append ran into its time limit, without end.
onEveryNats('NatsLog without the right to receive answers', (path) => {
  it('says so at once, and reads and appends again when the right is back', async () => {
    const server = await startNats({ path, config: user('none') });
    const nc = await connectTo(server.port);
    const log = await openLog(nc, await makeStream(nc), { publishTimeoutMs: 500 });
    const file = join(server.folder, 'server.conf');
    const deny = (before: string, denied: string) => {
      writeFileSync(file, readFileSync(file, 'utf8').replace(user(before), user(denied)));
      process.kill(server.pid, 'SIGHUP');
    };
    await log.append('s', Buffer.from('a'));
    expect((await log.readLast('s'))?.position).toBe(1);
    deny('none', '_INBOX.>');
    await eventually(() =>
      expect(log.readLast('s')).rejects.toMatchObject({
        code: 'UNAVAILABLE',
        message: expect.stringMatching(/^the last entry of .*Permissions Violation/),
      }),
    );
    await expect(log.append('s', Buffer.from('b'))).rejects.toThrow('unknown');
    deny('_INBOX.>', 'none');
    await eventually(async () => expect((await log.read('s', 1)).length).toBeGreaterThan(0));
    await eventually(() => log.append('s', Buffer.from('c')));
    await log.close();
    await nc.close();
    await server.stop();
  });
});
