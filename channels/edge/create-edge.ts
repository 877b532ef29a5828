/**
 * The Edge: the rules for envelopes, in one place for all transports.
 *
 * Boundary: it is independent of transports, reaches actors only through `System`, and stores
 * nothing. If this process ends while a client waits for a task, the task continues.
 *
 * Invariants:
 *  1. A refused envelope leaves no state; an answer with a task is durable.
 *  2. Every input is answered by a task or an error, without a stack or any part of the payload.
 *  3. The order is: size, schema, identity, tenant, roles, idempotency, ttl, quota, seq, append. A
 *     repeat is thus recognized even when its ttl is over or its seq is old, and only after its
 *     roles are checked.
 */
import { checkArtifactFields, hasArtifact } from '../../protocols/artifact.ts';
import type { CheckError } from '../../protocols/check.ts';
import { defined } from '../../protocols/defined.ts';
import { checkArtifactsLocality } from '../../protocols/locality.ts';
import type { Envelope, Payload } from '../../protocols/envelope.ts';
import { type ErrorData, TroupeError } from '../../protocols/errors.ts';
import {
  ETA_SEC_MAX,
  payloadHashOf,
  SYNC_ANSWER_MS,
  subjectOf,
  type TaskEvent,
  taskIdOf,
  type TaskView,
} from '../../protocols/task.ts';
import type { Artifacts, Clock, Principal, System } from '../../runtime/index.ts';
import { append } from './append.ts';
import { canonicalOf } from './canonical.ts';
import {
  checkLocality,
  checkPayloadSize,
  checkRoles,
  checkSubject,
  envelopeOf,
  idsOf,
  readJson,
  schemaFault,
  timeLeftMs,
  unsignedOf,
} from './checks.ts';
import { type Control, controlOf } from './control.ts';
import type {
  Caller,
  Credentials,
  Edge,
  EdgeAnswer,
  EdgeRequest,
  Identity,
  Quota,
  QuotaAnswer,
  Until,
} from './edge.ts';
import { type EdgeFacts, factsOf, rateOf, type Seen } from './facts.ts';
import type { Offer, Offers } from '../../protocols/offers.ts';
import { Outstanding, type OutstandingLimits } from './outstanding.ts';
import { takeOne } from './quota.ts';
import { TaskCount } from './task-count.ts';
import { noSuchTask, TaskService } from './task-service.ts';
import { TaskWatch } from './watch.ts';

export type EdgeOptions = {
  readonly system: Pick<System, 'ask' | 'caughtUp' | 'index' | 'bus' | 'nodes'>;
  readonly offers: Offers;
  readonly identity: Identity;
  readonly quota: Quota;
  /** quota of requests about existing tasks; default that of envelopes */
  readonly reads?: Quota;
  readonly clock: Clock;
  /** locality of this process; absent if not configured */
  readonly locality?: string;
  /** other localities whose data may be processed */
  readonly localities?: readonly string[];
  /** locality of stored files; absent if not configured */
  readonly artifactsLocality?: string;
  /** default: 5,000 concurrent envelopes and 64 MiB of them */
  readonly outstanding?: OutstandingLimits;
  /** maximum number of stored tasks of one tenant; default 5,000,000 */
  readonly tasksMax?: () => number;
  /** opens a sealed payload for its check; omitted: sensitive actions are refused */
  readonly open?: (envelope: Envelope) => Promise<Envelope>;
  /** validates an input against the schema of its waiting task; omitted: not checked */
  readonly fits?: (
    schema: Record<string, unknown>,
    value: unknown,
  ) => Promise<readonly CheckError[]>;
  /** checks that files in payloads are in this bucket; omitted: the work itself checks them */
  readonly artifacts?: Pick<Artifacts, 'resolve'>;
  readonly log?: { error(facts: object, message: string): void };
  /** called for every envelope after its answer is known; must not throw */
  readonly onRequest?: (facts: EdgeFacts) => void;
};

/** An authenticated envelope. */
type Known = {
  readonly request: EdgeRequest;
  readonly envelope: Envelope;
  readonly caller: Caller;
  readonly rate: QuotaAnswer;
  /** remaining time in which its answer may wait for the end of the task */
  readonly leftMs: () => number;
  /** called when its action is known to be served */
  readonly onServed: () => void;
  /** called when it is durable */
  readonly onAck: () => void;
};

const OUTSTANDING = { messages: 5_000, bytes: 64 * 2 ** 20 };
const TASKS_MAX = 5_000_000;
/** A full tenant has room again soon: tasks expire continuously. */
const FULL_RETRY_MS = 60_000;

export const createEdge = (options: EdgeOptions): Edge => new RunningEdge(options);

class RunningEdge implements Edge {
  readonly #o: EdgeOptions;
  readonly #watch: TaskWatch;
  readonly #outstanding: Outstanding;
  readonly #tasks: TaskCount;
  readonly #taskService: TaskService;

  constructor(options: EdgeOptions) {
    const { system, clock, outstanding = OUTSTANDING, tasksMax = () => TASKS_MAX } = options;
    this.#o = options;
    this.#watch = new TaskWatch({ bus: system.bus, index: system.index, clock });
    this.#outstanding = new Outstanding(outstanding);
    this.#tasks = new TaskCount({ index: system.index, clock, tasksMax });
    this.#taskService = new TaskService({ ...options, watch: this.#watch });
  }

  async submit(request: EdgeRequest): Promise<EdgeAnswer> {
    const begunMs = this.#o.clock.monotonicMs();
    const seen: Seen = {};
    let answer: EdgeAnswer;
    try {
      const end = this.#outstanding.begin(request.bytes.byteLength);
      try {
        const view = await this.#admit(request, seen, begunMs);
        answer = { kind: 'task', view, ...rateOf(seen) };
      } finally {
        end();
      }
    } catch (thrown) {
      const { requestId, traceId } = seen;
      answer = {
        kind: 'refused',
        error: this.#errorFor(thrown, traceId),
        ...rateOf(seen),
        ...defined({ requestId, traceId }),
      };
    }
    this.#o.onRequest?.(factsOf(request, seen, answer, this.#o.clock.monotonicMs() - begunMs));
    return answer;
  }

  async task(taskId: string, credentials: Credentials): Promise<TaskView> {
    const { identity, quota, reads = quota } = this.#o;
    const caller = await identity.authenticate(credentials);
    takeOne(reads, caller);
    return this.#taskService.read(caller, taskId);
  }

  async *events(
    taskId: string,
    credentials: Credentials,
    options: { after: number; signal: AbortSignal },
  ): AsyncGenerator<TaskEvent, void, void> {
    const caller = await this.#o.identity.authenticate(credentials);
    await this.#taskService.read(caller, taskId);
    yield* this.#watch.follow(caller.tenant, taskId, options);
  }

  async settled(taskId: string, credentials: Credentials, until: Until): Promise<TaskView> {
    const caller = await this.#o.identity.authenticate(credentials);
    return this.#watch.settled(taskId, until, () => this.#taskService.read(caller, taskId));
  }

  async cancel(taskId: string, credentials: Credentials, reason?: string): Promise<TaskView> {
    const caller = await this.#o.identity.authenticate(credentials);
    takeOne(this.#o.quota, caller);
    const view = await this.#taskService.read(caller, taskId);
    const principal = unsignedOf(caller, `${view.action}.cancel`);
    return this.#taskService.cancel(view, reason, { principal }, SYNC_ANSWER_MS);
  }

  async input(taskId: string, credentials: Credentials, input: unknown): Promise<TaskView> {
    const caller = await this.#o.identity.authenticate(credentials);
    takeOne(this.#o.quota, caller);
    const view = await this.#taskService.read(caller, taskId);
    const principal = unsignedOf(caller, 'task.provide_input');
    return this.#taskService.input(view, input, { principal }, SYNC_ANSWER_MS);
  }

  close(): void {
    this.#watch.close();
    this.#tasks.close();
  }

  /** The checks in order. @throws TroupeError the first that fails */
  async #admit(request: EdgeRequest, seen: Seen, begunMs: number): Promise<TaskView> {
    const value = readJson(request.bytes);
    Object.assign(seen, idsOf(value));
    const envelope = envelopeOf(value);
    seen.envelope = envelope;
    const control = controlOf(envelope);
    const caller = await this.#identify(request, envelope);
    seen.caller = caller;
    // The quota is counted here, so that every answer contains the rest of it. An exceeded quota is
    // refused later, in the order of the checks.
    seen.rate = this.#o.quota.take(caller, request.bytes.byteLength);
    const waitMs = clamp(request.waitMs ?? SYNC_ANSWER_MS);
    const sinceMs = () => this.#o.clock.monotonicMs() - begunMs;
    const known: Known = {
      request,
      envelope,
      caller,
      rate: seen.rate,
      leftMs: () => Math.max(0, waitMs - sinceMs()),
      onServed: () => (seen.isServed = true),
      onAck: () => (seen.ackMs = sinceMs()),
    };
    return control === undefined ? this.#perform(known) : this.#control(known, control);
  }

  async #identify(request: EdgeRequest, envelope: Envelope): Promise<Caller> {
    const caller = await this.#o.identity.authenticate(request);
    checkSubject(envelope, request.subject);
    await this.#o.identity.verifyEnvelope(caller, envelope, request);
    return caller;
  }

  async #perform(known: Known): Promise<TaskView> {
    const { request, envelope, caller, onServed } = known;
    const { clock, offers, system } = this.#o;
    const { tenant_id: tenant, action } = envelope;
    const canonical = canonicalOf(envelope.payload);
    const payloadHash = payloadHashOf(canonical);
    const found = offers.find(tenant, action, envelope.action_version);
    if ('offer' in found) {
      onServed();
      checkRoles(action, found.offer.spec.roles, envelope.principal.roles);
    }
    const offered = 'offer' in found ? found.offer : undefined;
    const taskId = this.#taskIdOf(envelope, offered, request.isNewKey);
    const waiting = request.until
      ? this.#watch.settling(taskId, request.until)
      : this.#watch.ending(taskId, known.leftMs);
    try {
      const row = request.isNewKey ? undefined : this.#watch.row(tenant, taskId);
      if (row) onServed();
      const isRepeat = row?.payloadHash === payloadHash;
      // A caller finds its own task also when its action is no longer offered.
      if (isRepeat && row.view.principal === caller.sub) return await waiting.from(row.view);
      if ('refused' in found) throw TroupeError.from(found.refused);
      const { offer } = found;
      if (isRepeat) {
        await this.#checkPayload(envelope, offer);
        return await waiting.from(row.view);
      }
      checkLocality(envelope.data_locality, { ...this.#o, nodes: system.nodes() });
      checkPayloadSize(canonical, offer.spec.max_payload_bytes);
      await this.#checkPayload(envelope, offer);
      if (row) throw otherPayload(envelope, taskId);
      const ttlMs = timeLeftMs(envelope, clock.wallMs());
      this.#checkQuota(known.rate);
      this.#checkRoom(tenant);
      const terms = offer.terms(envelope, taskId);
      const principal = principalOf(caller, envelope);
      const accepted = { request, envelope, taskId, payloadHash, terms, principal, ttlMs };
      const view = await append(system, accepted);
      known.onAck();
      this.#tasks.add(tenant);
      return await waiting.from(view);
    } finally {
      waiting.stop();
    }
  }

  /**
   * The task of the envelope's idempotency key. Keys are per caller, unless the action shares them.
   * Task ids of earlier versions do not contain the caller; for 28 hours they are found too.
   */
  #taskIdOf(envelope: Envelope, offer: Offer | undefined, isNewKey = false): string {
    const { tenant_id: tenant, action, idempotency_key: key, principal } = envelope;
    const subject = subjectOf(envelope);
    const own = () => taskIdOf({ tenant, action, subject, key, principal: principal.sub });
    const isShared = offer?.spec.key_scope === 'tenant';
    if (isNewKey && !isShared) return own();
    const shared = taskIdOf({ tenant, action, subject, key });
    const isOwn = () => this.#watch.row(tenant, shared)?.view.principal === principal.sub;
    return isShared || isOwn() ? shared : own();
  }

  /** @throws TroupeError INVALID_ARGUMENT; FORBIDDEN when it is sealed to another key */
  async #checkPayload(envelope: Envelope, offer: Offer): Promise<void> {
    let { payload } = envelope;
    if (offer.spec.sensitive) {
      if (this.#o.open === undefined)
        throw new TroupeError(
          'UNAVAILABLE',
          `${envelope.action} requires sealed payloads, and this gateway has no key to open them`,
        );
      ({ payload } = await this.#o.open(envelope));
    }
    const faults = await payloadFaults(payload, offer);
    const errors = faults.length > 0 ? faults : checkArtifactFields(payload);
    if (errors.length > 0) throw schemaFault('the payload is not valid', errors);
    if (!hasArtifact(payload)) return;
    checkArtifactsLocality(envelope.data_locality, this.#o);
    await this.#checkArtifact(envelope.tenant_id, payload);
  }

  /** @throws TroupeError FORBIDDEN for a file of another bucket or tenant; EXPIRED */
  async #checkArtifact(tenant: string, payload: Envelope['payload']): Promise<void> {
    const { artifact_uri: uri, artifact_hash: hash } = payload;
    const found = await this.#o.artifacts?.resolve(tenant, String(uri));
    if (found === undefined || found === hash) return;
    const message = 'is not the hash of the file that artifact_uri names';
    throw schemaFault('the payload is not valid', [{ path: '/payload/artifact_hash', message }]);
  }

  #checkQuota({ allowed, retryAfterMs, limit }: QuotaAnswer): void {
    if (allowed) return;
    throw new TroupeError(
      'RATE_LIMIT_EXCEEDED',
      `more than ${limit} envelopes per minute: wait and send it again with the same idempotency_key`,
      { retryAfterMs, details: { limit: 'quota' } },
    );
  }

  #checkRoom(tenant: string): void {
    if (!this.#tasks.isFull(tenant)) return;
    throw new TroupeError(
      'RATE_LIMIT_EXCEEDED',
      `tenant ${tenant} has reached its limit of stored tasks (a2a.quota.tasksMax): ended tasks are removed after 28 hours`,
      { retryAfterMs: FULL_RETRY_MS, details: { limit: 'tasks' } },
    );
  }

  async #control(known: Known, control: Control): Promise<TaskView> {
    const { envelope, caller, rate, leftMs, onServed } = known;
    if (control.kind !== 'cancel') onServed();
    const ttlMs = timeLeftMs(envelope, this.#o.clock.wallMs());
    this.#checkQuota(rate);
    const { tenant_id: tenant, idempotency_key: key, trace_id: traceId } = envelope;
    const principal = principalOf(caller, envelope);
    const view = await this.#taskService.read({ tenant, ...principal }, ...control.taskIds);
    if (control.kind === 'status') return view;
    const send = { principal, traceId, ttlMs };
    if (control.kind === 'input')
      return this.#taskService.input(view, control.input, { ...send, key }, SYNC_ANSWER_MS);
    if (view.action !== control.action) throw noSuchTask(view.task_id);
    onServed();
    return this.#taskService.cancel(view, control.reason, send, leftMs());
  }

  /** The error that a caller receives: a TroupeError unchanged; any other error without details. */
  #errorFor(thrown: unknown, traceId: string | undefined): ErrorData {
    if (thrown instanceof TroupeError) return thrown.toData();
    this.#o.log?.error({ err: thrown, traceId }, 'edge: an envelope failed');
    const message = 'an internal error prevented the acceptance: see the log of this gateway';
    return { code: 'INTERNAL', message };
  }
}

/**
 * `eta_sec` requests a longer time and need not be part of the action's schema: then the payload is
 * checked without it. If it is part of the schema, it may have any value that the schema allows.
 */
async function payloadFaults(payload: Payload, offer: Offer): Promise<readonly CheckError[]> {
  const errors = await offer.check(payload);
  const { eta_sec, ...rest } = payload;
  if (eta_sec === undefined || hasField(offer, payload, 'eta_sec')) return errors;
  const isTime = Number.isInteger(eta_sec) && Number(eta_sec) >= 1;
  const message = `must be a whole number of seconds from 1 to ${ETA_SEC_MAX}`;
  if (!isTime || Number(eta_sec) > ETA_SEC_MAX) return [{ path: '/payload/eta_sec', message }];
  return errors.length === 0 ? errors : offer.check(rest);
}

function hasField({ spec }: Offer, { schema_version }: Payload, name: string): boolean {
  const properties = spec.schemas[schema_version]?.['properties'];
  return typeof properties === 'object' && properties !== null && Object.hasOwn(properties, name);
}

const clamp = (waitMs: number): number => Math.min(SYNC_ANSWER_MS, Math.max(0, waitMs));

/** The caller with the roles that the envelope claims, which are some of the token's. */
const principalOf = ({ sub }: Caller, { principal }: Envelope): Principal => ({
  sub,
  roles: principal.roles,
});

const otherPayload = ({ idempotency_key, action }: Envelope, taskId: string): TroupeError =>
  new TroupeError(
    'CONFLICT',
    `the idempotency_key was used for ${action} with another payload: use a new key for new work`,
    { details: { idempotency_key, task_id: taskId } },
  );
