/** Envelopes over NATS to a cluster of processes: they are visible in metrics, and not in logs. */
import { randomUUID } from 'node:crypto';
import { connect, headers } from '@nats-io/transport-node';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Envelope } from '../../../protocols/envelope.ts';
import type { TaskEvent, TaskView } from '../../../protocols/task.ts';
import { scratchFolder, write } from '../../runtime/config/folder.ts';
import { eventually } from '../../runtime/eventually.ts';
import { natsServers, startNats } from '../../servers/nats.ts';
import { reservePort } from '../../servers/reserve-port.ts';
import { announced, type Started, startProgram } from '../program.ts';
import { newEnvelope } from '../../protocols/new-envelope.ts';

const server = natsServers().at(-1);
const leftOut = server ? '' : ' (left out: there is no nats-server here)';
const TOKEN = 'the-token-that-no-process-logs';
const SECRET = 'a-payload-that-no-process-logs';
const SUBJECT = 'a2a.notifier.main.in.default';

const envelope = (): Envelope =>
  newEnvelope('notifier.send_notification', { to: 'ann', text: SECRET, subject: randomUUID() });

const readyOf = (program: Started) => announced<{ url?: string }>(program);

async function openCluster() {
  const nats = await startNats({ path: server!.path });
  onTestFinished(() => nats.stop());
  const home = scratchFolder();
  const metricsPort = await reservePort();
  const settings = { cluster: { shards: 4 }, log: { level: 'trace' }, a2a: { metricsPort } };
  write(home, 'troupe.json5', JSON.stringify(settings));
  const env = {
    TROUPE_HOME: home,
    TROUPE_NATS_URL: nats.url,
    TROUPE_PORT: String(await reservePort()),
    TROUPE_TOKEN: TOKEN,
  };
  const start = (...args: string[]) => startProgram([...args, '--json'], { home, env });
  const worker = start('worker');
  const gateway = start('gateway');
  await readyOf(worker);
  const { url } = await readyOf(gateway);
  const outside = await connect({ servers: nats.url });
  onTestFinished(() => outside.close());
  return { worker, gateway, outside, metricsPort, url: new URL(url!).origin };
}

describe.skipIf(!server)(`the NATS entry point of a cluster of processes${leftOut}`, () => {
  it('answers, publishes events, is counted in metrics, and logs no secret', async () => {
    const { worker, gateway, outside, metricsPort, url } = await openCluster();
    const events: TaskEvent[] = [];
    outside.subscribe('a2a.notifier.main.out.default', {
      callback: (_, message) => void events.push(message.json()),
    });
    const signedIn = headers();
    signedIn.set('authorization', `Bearer ${TOKEN}`);
    const asked = envelope();
    const options = { headers: signedIn, timeout: 20_000 };
    const answer = await outside.request(SUBJECT, JSON.stringify(asked), options);
    expect(answer.headers?.get('status')).toBe('200');
    const view = answer.json<TaskView>();
    expect(view).toMatchObject({ state: 'SUCCEEDED', request_id: asked.request_id });
    // The registry also announces deprecated actions there, a moment after its start.
    const ofTasks = () => events.flatMap(({ event_id }) => event_id ?? []);
    await eventually(() => expect(ofTasks()).toEqual([1, 2, 3].map((n) => `${view.task_id}.${n}`)));

    const scraped = async (from: string) =>
      (await fetch(`${from}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } })).text();
    expect(await scraped(url)).toContain(
      'a2a_requests_total{action="notifier.send_notification",tenant="default",principal="operator",status="SUCCEEDED",error_code=""} 1',
    );
    const ofWorker = await scraped(`http://127.0.0.1:${metricsPort}`);
    expect(ofWorker).toMatch(/^troupe_shards_owned 4$/m);

    outside.publish(SUBJECT, JSON.stringify({ ...asked, payload: { text: SECRET } }), options);
    await eventually(() => expect(events.map(({ event }) => event)).toContain('a2a.refused'));
    for (const program of [worker, gateway]) {
      program.child.kill('SIGTERM');
      await program.ended;
      expect(program.stderr).not.toContain(SECRET);
      expect(program.stderr).not.toContain(TOKEN);
    }
    expect(gateway.stderr).toContain('gateway: listening');
  });
});
