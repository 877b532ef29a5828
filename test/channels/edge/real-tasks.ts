/** The shipped task actors on an embedded store, with actions for tests. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Type } from '@sinclair/typebox';
import { shippedActors } from '../../../actors/index.ts';
import { compileSchema } from '../../../runtime/json-schema/compile-schema.ts';
import { type ActionDefinition, defineAction, inputRequired } from '../../../actors/task/action.ts';
import type { PushServices } from '../../../actors/push/effects.ts';
import { ActionCatalog } from '../../../actors/task/catalog.ts';
import type { TaskServices } from '../../../actors/task/services.ts';
import { createEdge, type EdgeOptions } from '../../../channels/edge/create-edge.ts';
import type {
  Caller,
  Edge,
  EdgeAnswer,
  EdgeRequest,
  Identity,
} from '../../../channels/edge/edge.ts';
import { TokenQuota } from '../../../channels/edge/quota.ts';
import { createOffers } from '../../../actors/task/tenant-offers.ts';
import type { Envelope } from '../../../protocols/envelope.ts';
import { type ErrorData, TroupeError } from '../../../protocols/errors.ts';
import type { PushSender } from '../../../protocols/push.ts';
import type { TaskView } from '../../../protocols/task.ts';
import { createSystem, openEmbedded, type System, systemClock } from '../../../runtime/index.ts';
import { openFolderArtifacts } from '../../../runtime/artifacts/folder.ts';
import { newEnvelope } from '../../protocols/new-envelope.ts';

const closed = { additionalProperties: false } as const;
const version = Type.Literal('1.0');

/** Work that runs until the test opens its gate. */
export class Gate {
  readonly #open = new Map<string, () => void>();
  /** keys of started work */
  readonly begun: string[] = [];

  wait(key: string, signal: AbortSignal): Promise<void> {
    this.begun.push(key);
    return new Promise((resolve, reject) => {
      this.#open.set(key, resolve);
      signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true });
    });
  }

  open(key: string): void {
    this.#open.get(key)?.();
  }
}

const QUESTIONS = [
  inputRequired({ for: 'input', prompt: 'a text?', schema: { type: 'string' } }),
  inputRequired({ for: 'input', prompt: 'a number?', schema: { type: 'number' } }),
  inputRequired({ for: 'approval', prompt: 'all right?' }),
];

const actionsOf = (gate: Gate) => [
  defineAction({
    action: 'test.echo_text',
    version: '1.2.0',
    description: 'Answers the text it was given',
    agent: 'tester',
    schemas: {
      '1.0': Type.Object(
        {
          schema_version: version,
          text: Type.String(),
          subject: Type.Optional(Type.String()),
          eta_sec: Type.Optional(Type.Integer()),
        },
        closed,
      ),
    },
    perform: (payload) => Promise.resolve({ text: payload['text'] }),
  }),
  defineAction({
    action: 'test.keep_form',
    version: '1.0.0',
    description: 'Accepts any fields',
    agent: 'tester',
    schemas: { '1.0': Type.Object({ schema_version: version }) },
    perform: () => Promise.resolve({}),
  }),
  defineAction({
    action: 'test.hold_work',
    version: '1.0.0',
    description: 'Works until it is let go',
    agent: 'tester',
    schemas: { '1.0': Type.Object({ schema_version: version, gate: Type.String() }, closed) },
    async perform({ gate: key }, { signal }) {
      await gate.wait(String(key), signal);
      return { held: key };
    },
  }),
  defineAction({
    action: 'test.ask_word',
    version: '1.0.0',
    description: 'Asks for a word and answers it',
    agent: 'tester',
    schemas: { '1.0': Type.Object({ schema_version: version }, closed) },
    perform: (_, { inputs }) =>
      Promise.resolve(
        inputs.length === 0
          ? inputRequired({
              for: 'input',
              prompt: 'which word?',
              schema: { type: 'string', minLength: 1 },
            })
          : { word: inputs[0] },
      ),
  }),
  defineAction({
    action: 'test.ask_thrice',
    version: '1.0.0',
    description: 'Asks for a text, a number and an approval, and answers them',
    agent: 'tester',
    schemas: { '1.0': Type.Object({ schema_version: version }, closed) },
    perform: (_, { inputs }) =>
      Promise.resolve(QUESTIONS[inputs.length] ?? { inputs: [...inputs] }),
  }),
  defineAction({
    action: 'test.tell_secret',
    version: '1.0.0',
    description: 'Asks with a secret, and fails with it',
    agent: 'tester',
    schemas: { '1.0': Type.Object({ schema_version: version }, closed) },
    perform: (_, { inputs }) =>
      inputs.length === 0
        ? Promise.resolve(inputRequired({ for: 'input', prompt: 'the installation-secret?' }))
        : Promise.reject(new TroupeError('INVALID_ARGUMENT', 'not the installation-secret')),
  }),
  defineAction({
    action: 'test.share_key',
    version: '1.0.0',
    description: 'Asks for a word; its keys belong to the tenant',
    agent: 'tester',
    keyScope: 'tenant',
    schemas: { '1.0': Type.Object({ schema_version: version }, closed) },
    perform: (_, { inputs }) =>
      Promise.resolve(
        inputs.length < 2 ? inputRequired({ for: 'input', prompt: 'which word?' }) : 'shared',
      ),
  }),
  defineAction({
    action: 'test.fail_always',
    version: '1.0.0',
    description: 'Refuses its payload',
    agent: 'tester',
    schemas: { '1.0': Type.Object({ schema_version: version }, closed) },
    perform: () => Promise.reject(new TroupeError('INVALID_ARGUMENT', 'never good enough')),
  }),
  defineAction({
    action: 'test.guard_door',
    version: '1.0.0',
    description: 'For clerks, and small',
    agent: 'tester',
    roles: ['clerk'],
    maxPayloadBytes: 200,
    schemas: { '1.0': Type.Object({ schema_version: version, text: Type.String() }, closed) },
    perform: () => Promise.resolve('guarded'),
  }),
  defineAction({
    action: 'test.verify_job',
    version: '1.0.0',
    description: 'Keeps a file about a job as its evidence',
    agent: 'tester',
    roles: ['agent', 'auditor'],
    evidence: true,
    schemas: { '1.0': Type.Object({ schema_version: version, job_id: Type.String() }, closed) },
    async perform({ job_id }, context) {
      const { tenant, artifacts } = context;
      const contents = Buffer.from(JSON.stringify({ job_id }));
      const { hash } = await artifacts.put(tenant, contents, { contentType: 'application/json' });
      const evidence_ts = new Date(context.now()).toISOString();
      const seen = { job_id: String(job_id), verified: true, evidence_ts, source_kind: 'document' };
      // A verifier does not name the owner of the task.
      return { ...(await artifacts.sign(tenant, hash)), ...seen, task: { principal: 'clerk' } };
    },
  }),
];

const CALLERS: Readonly<Record<string, Caller>> = {
  alice: { sub: 'alice', roles: ['agent'], tenant: 'acme', profile: 'A2A-Basic' },
  clerk: { sub: 'clerk', roles: ['clerk'], tenant: 'acme', profile: 'A2A-Basic' },
  mallory: { sub: 'mallory', roles: ['agent'], tenant: 'other', profile: 'A2A-External' },
};

/** `Bearer {name}` authenticates the caller of that name; other tests cover signatures. */
export const namedCallers: Identity = {
  authenticate: ({ authorization = '' }) => {
    const caller = CALLERS[authorization.replace(/^Bearer /, '')];
    return caller
      ? Promise.resolve(caller)
      : Promise.reject(new TroupeError('UNAUTHORIZED', 'the token is not known here'));
  },
  verifyEnvelope: (caller, envelope) => {
    const { tenant_id, principal } = envelope as Envelope;
    const isOwn =
      tenant_id === caller.tenant &&
      principal.sub === caller.sub &&
      principal.roles.every((role) => caller.roles.includes(role));
    return isOwn
      ? Promise.resolve()
      : Promise.reject(new TroupeError('FORBIDDEN', 'the envelope is not of who sends it'));
  },
};

export type RealTasks = {
  readonly system: System;
  readonly gate: Gate;
  readonly catalog: ActionCatalog;
  readonly offers: EdgeOptions['offers'];
  /** another Edge of the same system */
  edge(options?: Partial<EdgeOptions>): Edge;
  stop(): Promise<void>;
};

/**
 * @param more actions in addition to those of this file
 * @param push posts push notifications; default: none are posted
 */
export const openRealTasks = async (
  more: readonly ActionDefinition[] = [],
  push?: PushSender,
): Promise<RealTasks> => {
  const path = mkdtempSync(join(tmpdir(), 'troupe-edge-'));
  const gate = new Gate();
  const catalog = new ActionCatalog([...actionsOf(gate), ...more]);
  const services: TaskServices & PushServices = {
    ...(push ? { push } : {}),
    actions: catalog,
    artifacts: await openFolderArtifacts({
      path: join(path, 'artifacts'),
      publicUrl: () => 'http://127.0.0.1:1',
      mimeTypes: ['application/json'],
    }),
    open: (envelope) => Promise.resolve(envelope),
    seal: () => Promise.reject(new Error('this test seals nothing')),
    askAgent: () => Promise.reject(new TroupeError('UNAVAILABLE', 'no agents outside')),
    count: () => {},
  };
  const ports = await openEmbedded({ path: join(path, 'store'), durability: 'process' });
  const labels = { locality: 'asia-southeast1' };
  const system = await createSystem({ ...ports, actors: shippedActors(), services, labels });
  const offers = createOffers({ catalog, system });
  const edges: Edge[] = [];
  const limits = { principalPerMinute: 1e6, externalPerMinute: 1e6, tenantPerMinute: 1e6 };
  return {
    system,
    gate,
    catalog,
    offers,
    edge(options = {}) {
      const edge = createEdge({
        fits: (schema, value) => Promise.resolve(compileSchema(schema)(value)),
        system,
        offers,
        identity: namedCallers,
        quota: new TokenQuota(limits, system, systemClock),
        clock: systemClock,
        ...options,
      });
      edges.push(edge);
      return edge;
    },
    async stop() {
      for (const edge of edges) edge.close();
      await system.stop();
      rmSync(path, { recursive: true, force: true });
    },
  };
};

let seq = 0;

/** A valid envelope of alice for `test.echo_text`, with a new key and a higher number each time. */
export const envelope = (changes: Partial<Envelope> = {}): Envelope =>
  newEnvelope(
    'test.echo_text',
    { text: 'hello' },
    { tenant_id: 'acme', principal: { sub: 'alice', roles: ['agent'] }, seq: ++seq, ...changes },
  );

export const bytesOf = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

/** Sends an envelope as alice to the Edge, or to another one. */
export const sender =
  (edge: () => Edge) =>
  (value: unknown, more: Partial<EdgeRequest> = {}, to: Edge = edge()): Promise<EdgeAnswer> =>
    to.submit({ transport: 'http', bytes: bytesOf(value), authorization: 'Bearer alice', ...more });

export const taskOf = (answer: EdgeAnswer): TaskView => {
  if (answer.kind === 'task') return answer.view;
  throw new Error(`refused: ${JSON.stringify(answer.error)}`);
};

export const errorOf = (answer: EdgeAnswer): ErrorData => {
  if (answer.kind === 'refused') return answer.error;
  throw new Error(`accepted: ${answer.view.state}`);
};
