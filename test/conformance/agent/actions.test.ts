/** The conformance agent's actions, as tasks of a real system through a real Edge. */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { conformanceActions } from '../../../conformance/agent/actions.ts';
import { shippedActors } from '../../../actors/index.ts';
import { specOf } from '../../../actors/task/action.ts';
import { ActionCatalog } from '../../../actors/task/catalog.ts';
import type { TaskServices } from '../../../actors/task/services.ts';
import { createEdge } from '../../../channels/edge/create-edge.ts';
import { withOpenedResults } from '../../../channels/edge/opened-results.ts';
import type { Edge } from '../../../channels/edge/edge.ts';
import { createSealer, type Sealer } from '../../../channels/edge/identity/sealer.ts';
import { TokenQuota } from '../../../channels/edge/quota.ts';
import { createOffers } from '../../../actors/task/tenant-offers.ts';
import type { Envelope } from '../../../protocols/envelope.ts';
import { sealPayload, sealingJwk } from '../../../protocols/security/sealed.ts';
import {
  type Evidence,
  EVIDENCE_INDEX,
  isFinal,
  type TaskRow,
  TASKS_INDEX,
  type TaskView,
} from '../../../protocols/task.ts';
import { openFolderArtifacts } from '../../../runtime/artifacts/folder.ts';
import {
  type Artifacts,
  createSystem,
  openEmbedded,
  type System,
  systemClock,
} from '../../../runtime/index.ts';
import { envelope, errorOf, namedCallers, sender, taskOf } from '../../channels/edge/real-tasks.ts';
import { eventually } from '../../runtime/eventually.ts';

const TENANT = 'acme';
let folder: string;
let system: System;
let edge: Edge;
let artifacts: Artifacts;
let sealer: Sealer;
let deadLetters = 0;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-conformance-'));
  artifacts = await openFolderArtifacts({
    path: join(folder, 'artifacts'),
    publicUrl: () => 'http://127.0.0.1:1',
    mimeTypes: ['application/json', 'text/plain'],
  });
  sealer = await createSealer({
    file: join(folder, 'sealing.json'),
    jwksUrl: () => 'http://127.0.0.1:1/.well-known/jwks.json',
  });
  // Offers the actions to the tenant of the test's callers instead of their own.
  const offered = conformanceActions().map((action) => ({ ...action, tenant: TENANT }));
  const catalog = new ActionCatalog(offered);
  const services: TaskServices = {
    actions: catalog,
    artifacts,
    open: (sealed) => sealer.open(sealed),
    seal: (value, belongsTo) => sealer.seal(value, belongsTo),
    askAgent: () => Promise.reject(new Error('this test has no external agents')),
    count: () => {},
  };
  const ports = await openEmbedded({ path: join(folder, 'store'), durability: 'process' });
  system = await createSystem({
    ...ports,
    actors: shippedActors(),
    services,
    onDeadLetter: () => void (deadLetters += 1),
  });
  const limits = { principalPerMinute: 1e6, externalPerMinute: 1e6, tenantPerMinute: 1e6 };
  const served = createEdge({
    system,
    offers: createOffers({ catalog, system }),
    identity: namedCallers,
    quota: new TokenQuota(limits, system, systemClock),
    clock: systemClock,
    open: (sealed) => sealer.open(sealed),
  });
  edge = withOpenedResults(served, (view) => sealer.openResult(view));
});
afterAll(async () => {
  edge.close();
  await system.stop();
  rmSync(folder, { recursive: true, force: true });
});

const send = sender(() => edge);
const asked = (name: string, payload: object = {}, change: Partial<Envelope> = {}): Envelope =>
  envelope({
    action: `conformance.${name}`,
    payload: { schema_version: '1.0', ...payload },
    ...change,
  });
const look = (view: TaskView) => edge.task(view.task_id, { authorization: 'Bearer alice' });
const ended = (view: TaskView) =>
  eventually(async () => {
    const now = await look(view);
    if (!isFinal(now.state)) throw new Error(`it is still ${now.state}`);
    return now;
  });
const call = async (...args: Parameters<typeof asked>) => ended(taskOf(await send(asked(...args))));

describe('the conformance agent', () => {
  it('returns a payload with arbitrary fields', async () => {
    const payload = { text: 'hello', more: { a: [1, null] } };
    expect(await call('echo_payload', payload)).toMatchObject({
      state: 'SUCCEEDED',
      result: { schema_version: '1.0', ...payload },
    });
    expect(errorOf(await send(asked('echo_payload', { text: 42 })))).toMatchObject({
      code: 'INVALID_ARGUMENT',
      details: { errors: [{ path: '/payload/text' }] },
    });
  });

  it('counts the work of a key, whatever is repeated', async () => {
    const first = asked('count_call');
    expect(await ended(taskOf(await send(first)))).toMatchObject({ result: { calls: 1 } });
    const views = await Promise.all([send(first), send(first)]);
    for (const view of views) expect(taskOf(view).result).toEqual({ calls: 1 });
    const { idempotency_key } = first;
    const elsewhere = asked('count_call', { subject: 'other' }, { idempotency_key });
    expect(await ended(taskOf(await send(elsewhere)))).toMatchObject({ result: { calls: 1 } });
  });

  it('would reveal work that ran twice for a key', async () => {
    const first = asked('count_call');
    await ended(taskOf(await send(first)));
    const counter = conformanceActions().find(({ action }) => action.endsWith('count_call'))!;
    const answer = await system.ask(
      counter.actor!(first, 'another task'),
      { type: 'conformance.count_call', task_id: 'another task' },
      { principal: { sub: 'test', roles: [] }, timeoutMs: 20_000 },
    );
    expect(answer).toMatchObject({ kind: 'answered', result: { calls: 2 } });
  });

  it('works for the requested time', async () => {
    const view = await call('run_slowly', { seconds: 0.05 });
    expect(view).toMatchObject({
      state: 'SUCCEEDED',
      result: { seconds: 0.05, task_id: view.task_id },
    });
    const undone = await call('check_undone', { task_id: view.task_id });
    expect(undone.result).toEqual({ undone: false });
    expect(errorOf(await send(asked('run_slowly', { seconds: 31 }))).code).toBe('INVALID_ARGUMENT');
  });

  it('stops when it is cancelled, and reports its compensation', async () => {
    const begun = taskOf(await send(asked('run_slowly', { seconds: 30 }), { waitMs: 0 }));
    const { task_id } = begun;
    const view = taskOf(await send(asked('run_slowly.cancel', { task_id })));
    expect(await ended(view)).toMatchObject({ state: 'COMPENSATED', outcome: 'CANCELLED' });
    expect((await call('check_undone', { task_id })).result).toEqual({ undone: true });
  });

  it('fails in every attempt with a transient code until the retries are exhausted', async () => {
    const before = deadLetters;
    expect(await call('fail_always', { code: 'UNAVAILABLE' })).toMatchObject({
      state: 'FAILED',
      attempt: 7,
      error: { code: 'UNAVAILABLE' },
    });
    expect(deadLetters).toBe(before + 1);
  });

  it('fails immediately with a permanent code', async () => {
    expect(await call('fail_always', { code: 'FORBIDDEN' })).toMatchObject({
      state: 'FAILED',
      attempt: 1,
      error: { code: 'FORBIDDEN' },
    });
    expect(errorOf(await send(asked('fail_always', { code: 'NO_SUCH' }))).code).toBe(
      'INVALID_ARGUMENT',
    );
  });

  it('fails once and then succeeds', async () => {
    expect(await call('fail_once')).toMatchObject({ state: 'SUCCEEDED', result: { attempt: 2 } });
  });

  it('waits for a name and returns it', async () => {
    const view = taskOf(await send(asked('need_input'), { waitMs: 0 }));
    await eventually(async () =>
      expect((await look(view)).waiting).toMatchObject({
        for: 'input',
        schema: { required: ['name'] },
      }),
    );
    await edge.input(view.task_id, { authorization: 'Bearer alice' }, { name: 'Ada' });
    expect(await ended(view)).toMatchObject({
      state: 'SUCCEEDED',
      result: { input: { name: 'Ada' } },
    });
  });

  it('supports two MAJOR versions, one of them deprecated', async () => {
    for (const [asks, serves] of [
      ['1.0.0', '1.3.0'],
      ['2.0.0', '2.0.0'],
    ] as const) {
      const view = await call('old_action', {}, { action_version: asks });
      expect(view.result).toEqual({ version: serves });
    }
    const specs = conformanceActions().map(specOf);
    const deprecated = specs.filter((spec) => spec.deprecated);
    expect(deprecated.map(({ action, action_version }) => [action, action_version])).toEqual([
      ['conformance.old_action', '1.3.0'],
    ]);
  });

  it('accepts only sealed texts, and returns only their length', async () => {
    const text = 'the-secret-itself';
    const plain = await send(asked('secret_text', { text }));
    expect(errorOf(plain).code).toBe('INVALID_ARGUMENT');
    expect(JSON.stringify(plain)).not.toContain(text);
    const whole = asked('secret_text', { text });
    const key = sealingJwk(sealer.publicJwk);
    const payload = await sealPayload(whole.payload, key, whole);
    const view = await ended(taskOf(await send({ ...whole, payload })));
    expect(view).toMatchObject({ state: 'SUCCEEDED', result: { characters: text.length } });
    expect(JSON.stringify(view)).not.toContain(text);
    const row = system.index.get<TaskRow>(TASKS_INDEX, TENANT, view.task_id);
    expect(row?.view.result).toEqual({ jwe: expect.any(String) });
    const events = edge.events(
      view.task_id,
      { authorization: 'Bearer alice' },
      { after: 0, signal: AbortSignal.timeout(20_000) },
    );
    for await (const { task } of events) expect(task).not.toHaveProperty('result');
  });

  it('accepts a short text and a large file, and refuses a large text', async () => {
    const hashOf = (text: string) => createHash('sha256').update(text).digest('hex');
    const short = await call('large_payload', { text: 'kurz' });
    expect(short.result).toEqual({ bytes: 4, hash: hashOf('kurz') });
    const large = 'lang '.repeat(20_000);
    const stored = await artifacts.put(TENANT, Buffer.from(large), { contentType: 'text/plain' });
    const ref = await artifacts.sign(TENANT, stored.hash);
    const view = await call('large_payload', ref);
    expect(view.result).toEqual({ bytes: 100_000, hash: hashOf(large) });
    expect(errorOf(await send(asked('large_payload', { text: large })))).toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
      message: expect.stringContaining('artifact_uri') as string,
    });
  });

  it('refuses a file with a wrong hash, and a payload with neither text nor file', async () => {
    const stored = await artifacts.put(TENANT, Buffer.from('one'), { contentType: 'text/plain' });
    const ref = await artifacts.sign(TENANT, stored.hash);
    for (const payload of [
      { ...ref, artifact_hash: 'b'.repeat(64) },
      {},
      { ...ref, text: 'both' },
    ]) {
      const answer = await send(asked('large_payload', payload));
      if (answer.kind === 'refused') expect(answer.error.code).toBe('INVALID_ARGUMENT');
      else
        expect(await ended(answer.view)).toMatchObject({
          state: 'FAILED',
          error: { code: 'INVALID_ARGUMENT' },
        });
    }
  });

  it('returns evidence with an intact file, listed for its job', async () => {
    const view = await call('verify_job', { job_id: 'conformance-1' });
    const evidence = view.result as Evidence;
    expect(evidence).toMatchObject({
      job_id: 'conformance-1',
      verified: true,
      content_type: 'application/json',
      source_kind: 'document',
    });
    const hash = await artifacts.resolve(TENANT, evidence.artifact_uri);
    expect(hash).toBe(evidence.artifact_hash);
    const { contents } = await artifacts.get(TENANT, hash);
    expect(JSON.parse(Buffer.from(contents).toString())).toMatchObject({
      job_id: 'conformance-1',
      task_id: view.task_id,
    });
    const rows = system.index.list<Evidence>(EVIDENCE_INDEX, TENANT, { prefix: 'conformance-1|' });
    expect(rows.map(({ value }) => value)).toMatchObject([evidence]);
  });

  it('stores no evidence for a job of another agent', async () => {
    for (const job_id of ['job-1', '018f3c1e-7a52-7c3d-9f00-1b2c3d4e5f62', 'conformance-1|2'])
      expect(errorOf(await send(asked('verify_job', { job_id })))).toMatchObject({
        code: 'INVALID_ARGUMENT',
        details: { errors: [{ path: '/payload/job_id' }] },
      });
  });
});
