/** The client of the public subjects, as the conformance suite uses it. */
import { expect, it, onTestFinished } from 'vitest';
import { NatsClient } from '../../../runtime/pubsub/nats-client.ts';
import { describeOnNats } from '../../servers/describe-on-nats.ts';
import { startNats } from '../../servers/nats.ts';

describeOnNats('NatsClient', ({ path }) => {
  it('reports a missing subscriber, and one that does not answer', async () => {
    const server = await startNats({ path });
    onTestFinished(() => server.stop());
    const client = await NatsClient.open({ servers: [server.url] });
    onTestFinished(() => client.close());
    client.subscribe('silent', () => {});
    await client.flush();
    const request = (subject: string) =>
      client.request(subject, new Uint8Array(), { timeoutMs: 300 });
    await expect(request('absent')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await expect(request('silent')).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
  });
});
