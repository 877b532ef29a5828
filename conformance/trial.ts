/**
 * Trial: the tools of one check: valid envelopes that it can alter, and expectations whose failures
 * state the request and the answer.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Envelope } from '../protocols/envelope.ts';
import { ERRORS, type ErrorCode } from '../protocols/errors.ts';
import { isFinal, type TaskView, type WireRefusal } from '../protocols/task.ts';
import type { Endpoint, Reply, SendOptions } from './endpoint.ts';
import type { Profile } from './profile.ts';

/** Why a check cannot run here. */
export class Skipped extends Error {
  override readonly name = 'Skipped';
}
/** How the endpoint broke the rule. */
export class Violation extends Error {
  override readonly name = 'Violation';
}

export type Who = {
  readonly tenant: string;
  readonly sub: string;
  readonly roles: readonly string[];
};

export type Signer = {
  readonly token: string;
  readonly who: Who;
  readonly kid: string;
  sign(envelope: object, kid?: string): Promise<string>;
};

export type TrialOptions = {
  readonly endpoint: Endpoint;
  readonly who: Who;
  readonly profile: Profile;
  /** an external program, for which A2A-External applies */
  readonly external?: Signer | undefined;
  /** token of another tenant */
  readonly strangerToken?: string | undefined;
  /** maximum wait for the end of a task; default one minute */
  readonly patienceMs?: number;
};

const LOOK_MS = 100;
const PATIENCE_MS = 60_000;
const ROUNDS = 3;
let lastSeq = Date.now() * 1_000;

export class Trial {
  readonly endpoint: Endpoint;
  readonly profile: Profile;
  readonly who: Who;
  readonly #o: TrialOptions;

  constructor(options: TrialOptions) {
    this.#o = options;
    this.endpoint = options.endpoint;
    this.profile = options.profile;
    this.who = options.who;
  }

  /** Skips the check when the profile has no action for this part. */
  action(part: keyof Profile['actions']): string {
    const action = this.profile.actions[part];
    if (!action) throw new Skipped(`the profile names no action for "${part}"`);
    return action;
  }

  get external(): Signer {
    if (this.#o.external) return this.#o.external;
    throw new Skipped('no key of an A2A-External program was given (--external-key)');
  }

  get strangerToken(): string {
    if (this.#o.strangerToken) return this.#o.strangerToken;
    throw new Skipped('no token of another tenant was given (--stranger-token)');
  }

  get http() {
    if (this.endpoint.http) return this.endpoint.http;
    throw new Skipped('it is asked over HTTP, and no URL was given (--http)');
  }

  /**
   * A valid envelope; `change` alters it. It has a subject of its own, in the payload if possible,
   * unless the payload has one.
   * When the payload is about a task and has no such field, the subject is in the context.
   */
  envelope(
    action: string,
    payload: object = {},
    change: Partial<Envelope> | object = {},
  ): Envelope {
    const isAboutTask = 'task_id' in payload;
    return {
      version: '1.0',
      request_id: randomUUID(),
      correlation_id: randomUUID(),
      causation_id: null,
      trace_id: randomUUID().replaceAll('-', ''),
      tenant_id: this.who.tenant,
      principal: { sub: this.who.sub, roles: [...this.who.roles] },
      timestamp: new Date().toISOString(),
      ttl_sec: 300,
      idempotency_key: randomUUID(),
      seq: ++lastSeq,
      action,
      action_version: this.profile.versions[action] ?? '1.0.0',
      payload: {
        ...(isAboutTask ? {} : { subject: `conformance-${randomUUID()}` }),
        ...payload,
        schema_version: '1.0',
      },
      ...(isAboutTask ? { context_id: randomUUID() } : {}),
      ...change,
    };
  }

  send(envelope: object | string, options?: SendOptions): Promise<Reply> {
    return this.endpoint.send(envelope, options);
  }

  /** Sends the envelope and expects that it is accepted. */
  async accepted(envelope: Envelope, options?: SendOptions): Promise<TaskView> {
    const reply = await this.send(envelope, options);
    const what = `${envelope.action} is accepted`;
    this.expect(reply.status === 200 || reply.status === 202, what, reply);
    const view = reply.body as TaskView;
    this.expect(typeof view?.task_id === 'string', `${what}, with a task_id`, reply);
    return view;
  }

  /** Sends the envelope and expects this refusal. */
  async refused(
    envelope: object | string,
    code: ErrorCode,
    what: string,
    options?: SendOptions,
  ): Promise<WireRefusal & { reply: Reply }> {
    const reply = await this.send(envelope, options);
    const body = reply.body as WireRefusal;
    this.expect(body?.error?.code === code, `${what}: ${code}`, reply);
    this.expect(reply.status === ERRORS[code].http, `${what}: status ${ERRORS[code].http}`, reply);
    return { ...body, reply };
  }

  /** The current view of the task. */
  async look(taskId: string): Promise<TaskView> {
    if (this.endpoint.http) {
      const reply = await this.endpoint.http.get(`/v1/tasks/${encodeURIComponent(taskId)}`);
      this.expect(reply.status === 200, `GET /v1/tasks/${taskId}`, reply);
      return reply.body as TaskView;
    }
    return this.accepted(this.envelope('task.get_status', { task_id: taskId }));
  }

  /** The task when it has ended, or when `until` returns true. */
  async ended(view: TaskView, until = (now: TaskView) => isFinal(now.state)): Promise<TaskView> {
    const deadline = performance.now() + (this.#o.patienceMs ?? PATIENCE_MS);
    for (let now = view; ; now = await this.look(view.task_id)) {
      if (until(now)) return now;
      if (performance.now() > deadline)
        throw new Violation(`task ${view.task_id} is still ${now.state}`);
      await sleep(LOOK_MS);
    }
  }

  async call(action: string, payload?: object, change?: object): Promise<TaskView> {
    return this.ended(await this.accepted(this.envelope(action, payload, change)));
  }

  /**
   * Measures up to three times, until a measurement is within the limit: a single late answer of a
   * busy machine does not break the rule.
   */
  async inTime(what: string, msMax: number, measure: () => Promise<number>): Promise<void> {
    const measured: string[] = [];
    while (measured.length < ROUNDS) {
      const ms = await measure();
      if (ms <= msMax) return;
      measured.push(`${Math.round(ms)} ms`);
    }
    throw new Violation(`${what} within ${msMax} ms; received: ${measured.join(', ')}`);
  }

  /** @throws Violation with the actual value */
  expect(holds: boolean, what: string, came?: Reply | object): void {
    if (holds) return;
    const shown = came === undefined ? '' : `; received: ${JSON.stringify(came).slice(0, 600)}`;
    throw new Violation(what + shown);
  }
}
