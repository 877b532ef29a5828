/**
 * Fifty sagas on three workers of the built program, one of which is killed during the run. Would
 * catch a step that is executed twice or lost when another worker takes over the saga, its tasks or
 * its documents, and evidence that only the dead worker could read.
 */
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Envelope } from '../../protocols/envelope.ts';
import { type Evidence, isFinal, type TaskView } from '../../protocols/task.ts';
import { reservePort } from '../servers/reserve-port.ts';
import { runProgram, type Started, startProgram } from '../cli/program.ts';
import { scratchFolder, write } from '../runtime/config/folder.ts';
import { natsServers, startNats } from '../servers/nats.ts';
import { newEnvelope } from '../protocols/new-envelope.ts';

const server = natsServers().at(-1);
const leftOut = server ? '' : ' (left out: there is no nats-server here)';
const TOKEN = 'token-of-the-gateway';
const SAGAS = 50;
const KILLED_AFTER = 5;
const PUBLISH = 'process.publish_document';
const DEADLINE_MS = 90_000;
const LOOK_MS = 50;

/** As `eventually`, but slower: others use the same two cores. */
async function until<T>(check: () => T | Promise<T>): Promise<T> {
  for (const deadline = performance.now() + DEADLINE_MS; ; await sleep(LOOK_MS)) {
    try {
      return await check();
    } catch (error) {
      if (performance.now() > deadline) throw error;
    }
  }
}

const names = Array.from({ length: SAGAS }, (_, n) => `document-${n}`);

const envelope = (action: string, subject: string, seq: number, payload: object): Envelope =>
  newEnvelope(
    action,
    { subject, ...payload },
    { ttl_sec: 300, idempotency_key: `${action}-${subject}`, seq },
  );

const update = (name: string) =>
  envelope('agent_data.update_document', name, 1, { document_id: name, content: 'before' });
const publish = (name: string) => {
  const order = { document_id: name, content: `news of ${name}`, expected_version: 1 };
  return envelope(PUBLISH, name, 2, { ...order, notify: { to: 'ada' } });
};
const read = (name: string) => envelope('agent_data.read_document', name, 3, { document_id: name });

class Gateway {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  async get<T>(path: string): Promise<T> {
    const headers = { authorization: `Bearer ${TOKEN}` };
    const answer = await fetch(`${this.#url}${path}`, { headers });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as T;
  }

  /** Again and again with the same key, until it is accepted. */
  send(body: Envelope, isAsync = false): Promise<TaskView> {
    return until(async () => {
      const answer = await fetch(`${this.#url}/v1/envelopes`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${TOKEN}`,
          'content-type': 'application/json',
          ...(isAsync ? { prefer: 'respond-async' } : {}),
        },
        body: JSON.stringify(body),
      });
      const text = await answer.text();
      if (!answer.ok) throw new Error(`${body.action}: ${answer.status} ${text}`);
      return JSON.parse(text) as TaskView;
    });
  }

  /** Accepts it and waits for its end. */
  async run(body: Envelope): Promise<TaskView> {
    return this.end((await this.send(body)).task_id);
  }

  end(taskId: string): Promise<TaskView> {
    return until(async () => {
      const view = await this.get<TaskView>(`/v1/tasks/${taskId}`);
      if (!isFinal(view.state)) throw new Error(`${taskId} is ${view.state}`);
      return view;
    });
  }
}

const ready = (program: Started): Promise<{ url?: string }> =>
  until(() => {
    if (!program.stdout.includes('\n')) throw new Error(`it is not ready: ${program.stderr}`);
    return JSON.parse(program.stdout.split('\n', 1)[0]!) as { url?: string };
  });

/** Three workers and a gateway with one data folder, hence one bucket. */
async function openCluster() {
  const nats = await startNats({ path: server!.path });
  onTestFinished(() => nats.stop());
  const home = scratchFolder();
  write(home, 'troupe.json5', '{ cluster: { shards: 12 } }');
  const env = {
    TROUPE_HOME: home,
    TROUPE_NATS_URL: nats.url,
    TROUPE_PORT: String(await reservePort()),
    TROUPE_TOKEN: TOKEN,
  };
  const options = { home, env };
  const workers = ['one', 'two', 'three'].map((name) =>
    startProgram(['worker', '--name', name, '--json'], options),
  );
  const gateway = startProgram(['gateway', '--json'], options);
  for (const worker of workers) await ready(worker);
  const { url } = await ready(gateway);
  const list = async (type: string) => {
    const listed = await runProgram(['actors', 'stored', '--type', type, '--json'], options);
    return JSON.parse(listed.stdout) as unknown[];
  };
  return { workers, gateway: new Gateway(new URL(url!).origin), list };
}

const shaOf = async (answer: Response) =>
  createHash('sha256')
    .update(Buffer.from(await answer.arrayBuffer()))
    .digest('hex');

describe.skipIf(!server)(`sagas on three workers${leftOut}`, () => {
  it('end once and successfully while a worker is killed', { timeout: 240_000 }, async () => {
    const { workers, gateway, list } = await openCluster();
    await Promise.all(names.map((name) => gateway.run(update(name))));

    let done = 0;
    const ends = names.map(async (name) => {
      const { task_id } = await gateway.send(publish(name), true);
      const view = await gateway.end(task_id);
      done++;
      return view;
    });
    await until(() => expect(done).toBeGreaterThanOrEqual(KILLED_AFTER));
    workers[1]!.child.kill('SIGKILL');
    await workers[1]!.ended;
    const doneAtKill = done;
    const views = await Promise.all(ends);
    // otherwise the worker was killed too late to prove anything
    expect(doneAtKill).toBeLessThan(SAGAS);

    for (const { state, events, error } of views) {
      expect({ state, error }).toEqual({ state: 'SUCCEEDED', error: undefined });
      const expected = ['accepted', 'running', 'done'].map((suffix) => `${PUBLISH}.${suffix}`);
      expect(events.map(({ event }) => event)).toEqual(expected);
    }
    const again = await Promise.all(names.map((name) => gateway.send(publish(name))));
    expect(again.map(({ task_id }) => task_id)).toEqual(views.map(({ task_id }) => task_id));

    const documents = await Promise.all(names.map((name) => gateway.run(read(name))));
    expect(documents.map(({ result }) => result)).toEqual(
      names.map((name) =>
        expect.objectContaining({ version: 2, content: `news of ${name}`, document_id: name }),
      ),
    );
    expect(await list('notification')).toHaveLength(SAGAS);
    expect(await list('process')).toHaveLength(SAGAS);
    for (const { task_id } of views) {
      const { records } = await gateway.get<{ records: Evidence[] }>(`/evidence/${task_id}`);
      expect(records.map(({ verified, source_kind }) => [verified, source_kind])).toEqual([
        [true, 'document'],
        [true, 'notification'],
      ]);
      for (const { artifact_uri, artifact_hash } of records)
        expect(await shaOf(await fetch(artifact_uri))).toBe(artifact_hash);
    }
    const dead = await gateway.get<{ dead_letters: unknown[] }>('/v1/dead-letters');
    expect(dead.dead_letters).toEqual([]);
  });
});
