import { jetstreamManager, type StreamConfig } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { openStreams, type Streams } from '../../../runtime/cluster/nats-streams.ts';
import { startNats, type NatsServer } from '../../servers/nats.ts';
import { eventually } from '../eventually.ts';
import { connectTo, onEveryNats } from '../log/nats-under-test.ts';

let envs = 0;

onEveryNats('the streams of a cell', (path, version) => {
  let server: NatsServer;
  let nc: NatsConnection;
  let env: string;
  beforeAll(async () => {
    server = await startNats({ path });
    nc = await connectTo(server.port);
  });
  afterAll(async () => {
    await nc.close();
    await server.stop();
  });
  beforeEach(() => {
    env = `env${++envs}`;
  });

  const configOf = async (stream: string): Promise<StreamConfig> => {
    const manager = await jetstreamManager(nc);
    return (await manager.streams.info(stream)).config;
  };

  it('are stored in files without expiry, and refuse new messages rather than drop old ones', async () => {
    const streams = await openStreams(nc, { env });
    for (const name of [streams.mail, streams.journal, streams.kept, streams.blobs]) {
      expect(await configOf(name)).toMatchObject({
        storage: 'file',
        retention: 'limits',
        discard: 'new',
        max_age: 0,
        max_msgs: -1,
        max_bytes: -1,
        max_msgs_per_subject: -1,
        num_replicas: 1,
        duplicate_window: 120_000_000_000,
        allow_direct: false,
      });
    }
  });

  it('contain every subject of the log, with transcripts and dead letters separate from mail and journals', async () => {
    const streams = await openStreams(nc, { env });
    const { mail, journal, kept } = streams;
    expect(streams.streamOf(`mbx.${env}.3.data`)).toBe(mail);
    expect(streams.streamOf(`jrn.${env}.3`)).toBe(journal);
    for (const subject of [`trn.${env}.t.agent.k`, `cell.${env}`, `a2a.any.${env}.dlq`])
      expect(streams.streamOf(subject)).toBe(kept);
    for (const subject of ['mbx.other.3.data', `jrn.${env}`, `a2a.any.${env}.in.t`, `blb.${env}.x`])
      expect(streams.streamOf(subject)).toBeUndefined();
  });

  it('are the same for processes that create them concurrently, and for a later one', async () => {
    const others = await Promise.all([connectTo(server.port), connectTo(server.port)]);
    // NATS 2.9 rejects about one of a hundred of these requests: the subjects overlap with those of
    // the same stream.
    for (let n = 0; n < 20; n++) {
      const opened: Streams[] = await Promise.all(
        [nc, ...others, nc].map((each) => openStreams(each, { env: `${env}-${n}` })),
      );
      const names = opened.map(({ mail, journal, kept, blobs }) => [mail, journal, kept, blobs]);
      expect(new Set(names.map(String)).size).toBe(1);
    }
    await openStreams(nc, { env });
    await openStreams(nc, { env, maxBytes: 1_000_000 });
    for (const other of others) await other.close();
  });

  // NATS 2.9 uses the stream's name as a format string: an escaped env in it broke every delivery.
  it('have names that every server accepts, for any env', async () => {
    const odd = `ü %d/${env}.*`;
    const streams = await openStreams(nc, { env: odd });
    expect(streams.mail).toMatch(/^[A-Za-z0-9=_-]+$/);
    const other = await openStreams(nc, { env: odd.replace('%', '=') });
    expect(other.mail).not.toBe(streams.mail);
  });

  it.each([
    ['max_age', { max_age: 3_600_000_000_000 }],
    ['discard', { discard: 'old' as const }],
    ['retention', { retention: 'workqueue' as const }],
    ['storage', { storage: 'memory' as const }],
    ['max_msgs_per_subject', { max_msgs_per_subject: 5 }],
    ['no_ack', { no_ack: true }],
    ['subjects', { subjects: [] }],
  ])('are refused when %s breaks a guarantee of the log', async (field, wrong) => {
    const manager = await jetstreamManager(nc);
    await manager.streams.add({
      name: `troupe-${env}-journal`,
      subjects: [`jrn.${env}.>`],
      discard: 'new',
      ...wrong,
      ...(field === 'subjects' ? { subjects: [`jrn.${env}.0`] } : {}),
    });
    await expect(openStreams(nc, { env })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringMatching(new RegExp(`troupe-${env}-journal.*${field} (is|are)`)),
    });
  });

  it('are refused when another stream has their subjects', async () => {
    const manager = await jetstreamManager(nc);
    await manager.streams.add({ name: `foreign-${env}`, subjects: [`jrn.${env}.*`] });
    await expect(openStreams(nc, { env })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('overlap'),
    });
  });

  it('are refused with more replicas than the server can place on separate machines', async () => {
    await expect(openStreams(nc, { env, replicas: 3 })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining(version.startsWith('2.9') ? 'before 2.11' : 'replicas'),
    });
  });

  it('are refused on a server without JetStream', async () => {
    const plain = await startNats({ path, config: 'jetstream: disabled' });
    const there = await connectTo(plain.port);
    await expect(openStreams(there, { env })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('no JetStream'),
    });
    await there.close();
    await plain.stop();
  });

  it('are created when an absent server starts', async () => {
    const away = await startNats({ path });
    const there = await connectTo(away.port);
    await away.kill('SIGKILL');
    const said: string[] = [];
    const opening = openStreams(there, { env, onStatus: (what) => said.push(what) });
    await eventually(() => expect(said.join()).toContain('waiting for JetStream'));
    const again = await startNats({ path, folder: away.folder, port: away.port });
    await expect(opening).resolves.toMatchObject({ mail: `troupe-${env}-mail` });
    await there.close();
    await again.stop();
    await away.stop();
  });

  it('stop waiting for the server when the signal aborts', async () => {
    const away = await startNats({ path });
    const there = await connectTo(away.port);
    await away.kill('SIGKILL');
    const stop = new AbortController();
    const opening = openStreams(there, {
      env,
      signal: stop.signal,
      onStatus: () => stop.abort(),
    });
    await expect(opening).rejects.toMatchObject({ code: 'CANCELLED' });
    await there.close();
    await away.stop();
  });
});
