/**
 * Records in the audit who did what through this gateway. An action that grants or revokes rights
 * is recorded durably before it is executed. Frequent actions are recorded up to a second later.
 *
 * Invariants:
 *  1. Actions with the scope admin, approvals or pairing, and commands of nodes, start only after
 *     their record is stored.
 *  2. A record contains no message text and no secret: only ids, from a list of allowed names.
 *  3. Refused connections fill at most REFUSALS_PER_MINUTE records; further ones are only counted.
 */
import { randomUUID } from 'node:crypto';
import {
  AUDIT_BATCH_MAX,
  AUDIT_TEXT_CHARACTERS_MAX,
  auditAddress,
  auditDay,
  type AuditRecord,
} from '../../../protocols/audit.ts';
import { errorData, TroupeError } from '../../../protocols/errors.ts';
import type { GatewayMethod, RequestFrame } from '../../../protocols/gateway/index.ts';
import type { Clock, System } from '../../../runtime/index.ts';
import type { Client } from '../transport/connection.ts';
import { ACCEPT_TIMEOUT_MS } from '../limits.ts';
import type { Logger } from '../log.ts';

/** Interval in which queued records are written. */
const FLUSH_MS = 1_000;
/** Queued records; beyond it the oldest are dropped, and their number is logged. */
const WAITING_MAX = 10_000;
const REFUSALS_PER_MINUTE = 100;
const MINUTE_MS = 60_000;
/** Parameters that identify the target of an action. */
const NAMES = [
  'sessionKey',
  'key',
  'agentId',
  'deviceId',
  'nodeId',
  'requestId',
  'actor',
  'kid',
  'sub',
  'domain',
  'task_id',
  'id',
  'jobId',
  'taskId',
  'runId',
  'role',
  'command',
  'decision',
  'name',
  'path',
] as const;
const SYSTEM = { sub: 'gateway', roles: ['system'] };

export type AuditTrailOptions = {
  readonly system: Pick<System, 'tell' | 'ask'>;
  readonly tenant: string;
  readonly gateway: string;
  readonly clock: Clock;
  readonly log: Logger;
};

/** Records of one day, written with one message. */
type Batch = { readonly records: readonly AuditRecord[]; readonly key: string };

type About = Pick<AuditRecord, 'action' | 'on' | 'requestId'>;

export class AuditTrail {
  readonly #o: AuditTrailOptions;
  #waiting: AuditRecord[] = [];
  /** a batch with an unknown outcome; it is retried under the same key */
  #tried: Batch | undefined;
  #dropped = 0;
  #cancelFlush: (() => void) | undefined;
  /** writes run one at a time, so that records are stored in order */
  #flushed: Promise<void> = Promise.resolve();
  #isClosed = false;
  #refusals = { since: -Infinity, count: 0, more: 0 };

  constructor(options: AuditTrailOptions) {
    this.#o = options;
  }

  /**
   * Called before an action. Resolves when the action may start.
   * @throws TroupeError UNAVAILABLE when a required record cannot be stored
   */
  async begin(scope: GatewayMethod['scope'], who: Client, asked: RequestFrame): Promise<void> {
    if (!needsRecordBefore(scope, asked.method)) return;
    const record = this.#record(who, aboutOf(asked), { outcome: 'begun' });
    const { system, tenant } = this.#o;
    const answer = await system.ask(
      auditAddress(tenant, auditDay(record.at)),
      { type: 'audit.note', records: [record] },
      { principal: SYSTEM, key: randomUUID(), timeoutMs: ACCEPT_TIMEOUT_MS },
    );
    if (answer.kind === 'answered') return;
    const why = answer.kind === 'refused' ? answer.error.message : 'no answer in time';
    throw new TroupeError('UNAVAILABLE', `${asked.method} was not done: the audit says ${why}`);
  }

  /** Called after the action. @param thrown its error, if it failed or was refused */
  ended(scope: GatewayMethod['scope'], who: Client, asked: RequestFrame, thrown?: unknown): void {
    if (!isRecorded(scope, asked.method)) return;
    const about = aboutOf(asked);
    if (thrown === undefined) return this.#later(this.#record(who, about, { outcome: 'done' }));
    const { code } = errorData(thrown);
    const outcome = code === 'FORBIDDEN' ? 'refused' : 'failed';
    this.#later(this.#record(who, about, { outcome, code }));
  }

  /** An operator requested a change over plain HTTP. */
  httpRequest(who: string, action: string, ip: string | undefined): void {
    this.#later({
      at: this.#o.clock.wallMs(),
      who: short(who),
      by: 'operator-api',
      ...given({ ip }),
      action: short(action),
      outcome: 'begun',
      gateway: this.#o.gateway,
    });
  }

  /** A client completed the handshake. */
  connected(who: Client, ip: string): void {
    this.#later(this.#record(who, { action: 'connect' }, { outcome: 'done', ip }));
  }

  /** A `connect` was refused. @param who the name that the client gave */
  connectRefused(who: string, ip: string, code: string): void {
    const now = this.#o.clock.monotonicMs();
    if (now - this.#refusals.since >= MINUTE_MS) {
      this.#noteMore();
      this.#refusals = { since: now, count: 0, more: 0 };
    }
    if (++this.#refusals.count > REFUSALS_PER_MINUTE) {
      this.#refusals.more++;
      return;
    }
    const client = { who: short(who), by: 'none', ...given({ ip }) };
    this.#later({
      at: this.#o.clock.wallMs(),
      ...client,
      action: 'connect',
      outcome: 'refused',
      code: short(code),
      gateway: this.#o.gateway,
    });
  }

  /** Writes the queued records, if the audit accepts them now. May be repeated. */
  async close(): Promise<void> {
    this.#noteMore();
    this.#isClosed = true;
    this.#cancelFlush?.();
    this.#cancelFlush = undefined;
    await this.#flush();
  }

  #record(
    { principal, method, deviceId }: Client,
    about: About,
    more: Pick<AuditRecord, 'outcome' | 'code' | 'ip'>,
  ): AuditRecord {
    return {
      at: this.#o.clock.wallMs(),
      who: short(principal.sub),
      by: method,
      ...given({ deviceId }),
      ...about,
      ...more,
      gateway: this.#o.gateway,
    };
  }

  #noteMore(): void {
    const { more } = this.#refusals;
    if (more === 0) return;
    this.#refusals.more = 0;
    this.#later({
      at: this.#o.clock.wallMs(),
      who: `${more} more`,
      by: 'none',
      action: 'connect',
      outcome: 'refused',
      gateway: this.#o.gateway,
    });
  }

  #later(record: AuditRecord): void {
    this.#waiting.push(record);
    this.#dropOldest();
    this.#flushLater();
  }

  #dropOldest(): void {
    const over = this.#waiting.length - WAITING_MAX;
    if (over <= 0) return;
    this.#waiting.splice(0, over);
    this.#dropped += over;
  }

  #flushLater(): void {
    if (this.#isClosed) return;
    this.#cancelFlush ??= this.#o.clock.after(FLUSH_MS, () => {
      this.#cancelFlush = undefined;
      void this.#flush();
    });
  }

  #flush(): Promise<void> {
    return (this.#flushed = this.#flushed.then(() => this.#writeWaiting()));
  }

  /** Never rejects: records that cannot be written stay queued. */
  async #writeWaiting(): Promise<void> {
    while (this.#tried !== undefined || this.#waiting.length > 0) {
      this.#tried ??= {
        records: this.#waiting.splice(0, sameDay(this.#waiting)),
        key: randomUUID(),
      };
      const failure = await this.#write(this.#tried);
      if (failure !== undefined) {
        const records = this.#tried.records.length + this.#waiting.length;
        this.#o.log.warn({ records, dropped: this.#dropped }, `audit: ${failure}`);
        return this.#flushLater();
      }
      this.#tried = undefined;
    }
  }

  async #write({ records, key }: Batch): Promise<string | undefined> {
    const { system, tenant } = this.#o;
    const day = auditDay(records[0]!.at);
    try {
      const note = { type: 'audit.note', records };
      const answer = await system.tell(auditAddress(tenant, day), note, { principal: SYSTEM, key });
      return answer.kind === 'accepted' ? undefined : answer.error.message;
    } catch (error) {
      return errorData(error).message;
    }
  }
}

/** Number of leading records that have the same day and fit into one message. */
const sameDay = (records: readonly AuditRecord[]): number => {
  const day = auditDay(records[0]!.at);
  const next = records.findIndex(({ at }) => auditDay(at) !== day);
  return Math.min(next < 0 ? records.length : next, AUDIT_BATCH_MAX);
};

const aboutOf = ({ method, params, id }: RequestFrame): About => ({
  action: method,
  ...targetsOf(params),
  requestId: id.slice(0, 200),
});

/** The targets of a request, from its parameters: ids only. */
const targetsOf = (params: unknown): Pick<AuditRecord, 'on'> => {
  if (typeof params !== 'object' || params === null) return {};
  const found = NAMES.flatMap((name) => {
    const value = (params as Record<string, unknown>)[name];
    return typeof value === 'string' && value !== '' ? [[name, short(value)] as const] : [];
  }).slice(0, 8);
  return found.length === 0 ? {} : { on: Object.fromEntries(found) };
};

/** Reads, waits, and messages of nodes are not recorded. */
const isRecorded = (scope: GatewayMethod['scope'], action: string): boolean =>
  scope !== null && scope !== 'node' && scope !== 'operator.read' && !WAITING_METHODS.has(action);
const WAITING_METHODS: ReadonlySet<string> = new Set(['agent.wait', 'exec.approval.waitDecision']);

const PRIVILEGED_SCOPES: ReadonlySet<GatewayMethod['scope']> = new Set([
  'operator.admin',
  'operator.approvals',
  'operator.pairing',
]);
/** Read methods need no record in advance, whatever their scope. */
const READ_METHODS = /\.(list|get|show|status|schema|lookup|waitDecision)$/;
const INVOCATIONS: ReadonlySet<string> = new Set(['node.invoke', 'nodes.invoke']);
const needsRecordBefore = (scope: GatewayMethod['scope'], action: string): boolean =>
  (PRIVILEGED_SCOPES.has(scope) && !READ_METHODS.test(action)) || INVOCATIONS.has(action);

const short = (text: string): string =>
  text === '' ? '?' : text.slice(0, AUDIT_TEXT_CHARACTERS_MAX);

const given = <T extends object>(value: T): { [K in keyof T]?: NonNullable<T[K]> } =>
  Object.fromEntries(
    Object.entries(value).filter(([, part]) => part !== undefined && part !== ''),
  ) as { [K in keyof T]?: NonNullable<T[K]> };
