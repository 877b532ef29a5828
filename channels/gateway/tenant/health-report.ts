/**
 * The health of the system behind this gateway. It is computed and encoded once for all clients, so
 * that thousands of clients can request it every second.
 *
 * Invariants:
 *  1. The maximum age of a report is COUNT_EXPIRES_MS, or 600 times its computing time if that is
 *     longer. Computing thus uses at most 1/300 of a core, whatever the number of requests.
 *  2. A request waits only when the report has expired.
 *  3. `version` rises, and the event `health` is sent, when readiness or the set of agents changes;
 *     not when a session becomes active.
 */
import type { Health, StateVersion, StatusResult } from '../../../protocols/gateway/index.ts';
import type { SessionRow } from '../../../protocols/session.ts';
import type { Clock, ShardStatus, System } from '../../../runtime/index.ts';
import { type Connection, eventHead } from '../transport/connection.ts';
import { COUNT_REFRESH_MS, COUNT_EXPIRES_MS, HEALTH_CHECK_MS } from '../limits.ts';
import type { AgentNames } from '../../../operations/sessions/session-key.ts';

/** The storage path that clients receive; sessions are not stored as files. */
const SESSIONS_PATH = 'troupe';
/** Number of recent sessions listed, in total and per agent. */
const RECENT = 5;
const NO_HEARTBEAT = {
  enabled: false,
  every: '0m',
  everyMs: null,
  prompt: '',
  target: 'none',
  ackMaxChars: 0,
};

export type HealthReportOptions = {
  readonly system: Pick<System, 'index' | 'status'>;
  readonly tenant: string;
  readonly names: AgentNames;
  readonly clock: Clock;
  readonly version: string;
  /** receivers of the event */
  readonly audience: Iterable<Connection>;
  /** called when `version` has risen; returns the state version for the event */
  readonly onChange: (version: number) => StateVersion;
};

type Active = Pick<SessionRow, 'sessionKey' | 'updatedAt'>;
/** `recent`: newest first, at most RECENT. */
type Tally = { count: number; recent: Active[] };
type Count = {
  /** wall milliseconds */
  readonly at: number;
  readonly tookMs: number;
  readonly total: Tally;
  readonly byAgent: ReadonlyMap<string, Tally>;
  /** encoded answers, created on the first request */
  health?: string;
  status?: string;
};

/** Shards that do not serve. The gateway is ready when there are none. */
export const shardsNotOwned = (shards: readonly ShardStatus[]): readonly ShardStatus[] =>
  shards.filter(({ state, why }) => state !== 'owned' || why !== undefined);

export const isReady = (shards: readonly ShardStatus[]): boolean =>
  shards.length > 0 && shardsNotOwned(shards).length === 0;

export class HealthReport {
  readonly #o: HealthReportOptions;
  #count: Count | undefined;
  #counting: Promise<Count> | undefined;
  #version = 1;
  /** the facts of the current `version` */
  #seen: string;
  #cancel: () => void;

  constructor(options: HealthReportOptions) {
    this.#o = options;
    this.#seen = this.#facts();
    this.#cancel = options.clock.after(HEALTH_CHECK_MS, () => this.#check());
  }

  get version(): number {
    return this.#version;
  }

  /** The part that is cheap to compute, for every `hello-ok`. */
  atHello(): Health {
    const { system, clock, names } = this.#o;
    return {
      ...(isReady(system.status()) ? { ok: true } : {}),
      ts: clock.wallMs(),
      defaultAgentId: names.defaultAgentId,
    };
  }

  /** Answer of `health`, as JSON. */
  async health(): Promise<string> {
    const count = await this.#counted();
    return (count.health ??= JSON.stringify(this.#healthOf(count)));
  }

  /** Answer of `status`, as JSON. */
  async status(): Promise<string> {
    const count = await this.#counted();
    return (count.status ??= JSON.stringify(this.#statusOf(count)));
  }

  close(): void {
    this.#cancel();
  }

  async #counted(): Promise<Count> {
    const known = this.#count;
    if (known === undefined) return this.#again();
    const age = Math.abs(this.#o.clock.wallMs() - known.at);
    if (age > Math.max(COUNT_EXPIRES_MS, 600 * known.tookMs)) return this.#again();
    // A failure of the background refresh is ignored; a request that must wait for a count reports
    // it.
    if (age > Math.max(COUNT_REFRESH_MS, 300 * known.tookMs)) this.#again().catch(() => {});
    return known;
  }

  #again(): Promise<Count> {
    this.#counting ??= this.#countSessions()
      .then((count) => (this.#count = count))
      .finally(() => (this.#counting = undefined));
    return this.#counting;
  }

  async #countSessions(): Promise<Count> {
    const { system, tenant, clock } = this.#o;
    const startedAt = clock.monotonicMs();
    const total: Tally = { count: 0, recent: [] };
    const byAgent = new Map<string, Tally>();
    const fields = ['sessionKey', 'agentId', 'updatedAt'] as const;
    await system.index.scan<SessionRow, (typeof fields)[number]>(
      'sessions',
      tenant,
      { fields },
      (row) => {
        let own = byAgent.get(row.agentId);
        if (own === undefined) byAgent.set(row.agentId, (own = { count: 0, recent: [] }));
        note(total, row);
        note(own, row);
      },
    );
    return { at: clock.wallMs(), tookMs: clock.monotonicMs() - startedAt, total, byAgent };
  }

  #healthOf({ at, tookMs, total, byAgent }: Count): Health {
    const { names } = this.#o;
    const summary = ({ count, recent }: Tally) => ({
      path: SESSIONS_PATH,
      count,
      recent: recent.map(({ sessionKey, updatedAt }) => ({
        key: sessionKey,
        updatedAt,
        age: Math.max(0, at - updatedAt),
      })),
    });
    return {
      ...this.atHello(),
      ts: at,
      channels: {},
      channelOrder: [],
      channelLabels: {},
      heartbeatSeconds: 0,
      agents: names.agents.map(({ id }) => ({
        agentId: id,
        name: id,
        isDefault: id === names.defaultAgentId,
        heartbeat: NO_HEARTBEAT,
        sessions: summary(byAgent.get(id) ?? NONE),
      })),
      sessions: summary(total),
      durationMs: Math.round(tookMs),
    };
  }

  #statusOf({ total, byAgent }: Count): StatusResult {
    const { names, version, system } = this.#o;
    const recent = ({ recent: rows }: Tally) =>
      rows.map(({ sessionKey, updatedAt }) => ({ key: sessionKey, updatedAt }));
    return {
      runtimeVersion: version,
      heartbeat: { defaultAgentId: names.defaultAgentId, agents: [] },
      channelSummary: [],
      queuedSystemEvents: [],
      sessions: {
        paths: [SESSIONS_PATH],
        count: total.count,
        defaults: {
          model: names.agents.find(({ id }) => id === names.defaultAgentId)?.model ?? null,
          contextTokens: null,
        },
        recent: recent(total),
        byAgent: names.agents.map(({ id }) => {
          const own = byAgent.get(id) ?? NONE;
          return { agentId: id, path: SESSIONS_PATH, count: own.count, recent: recent(own) };
        }),
      },
      shards: [...system.status()],
    };
  }

  /** The facts whose change increments the version. */
  #facts(): string {
    const { system, names } = this.#o;
    const { defaultAgentId, agents } = names;
    return JSON.stringify([
      isReady(system.status()),
      defaultAgentId,
      agents.map(({ id, model }) => [id, model]),
    ]);
  }

  #check(): void {
    this.#cancel = this.#o.clock.after(HEALTH_CHECK_MS, () => this.#check());
    const facts = this.#facts();
    if (facts === this.#seen) return;
    this.#seen = facts;
    const stateVersion = this.#o.onChange(++this.#version);
    // The next request computes a new report.
    this.#count = undefined;
    void this.#publish(stateVersion);
  }

  /** Best effort: a client that misses the event can request the report. */
  async #publish(stateVersion: StateVersion): Promise<void> {
    try {
      const payload: unknown = JSON.parse(await this.health());
      const head = eventHead('health', payload, { stateVersion });
      for (const connection of this.#o.audience) {
        if (connection.client?.role === 'operator') connection.event(head);
      }
    } catch {
      // the rows cannot be read now; a `health` request returns the error
    }
  }
}

const NONE: Tally = { count: 0, recent: [] };

const note = (tally: Tally, row: Active): void => {
  tally.count++;
  const { recent } = tally;
  const last = recent.at(-1);
  if (recent.length === RECENT && last !== undefined && row.updatedAt <= last.updatedAt) return;
  const place = recent.findIndex(({ updatedAt }) => row.updatedAt > updatedAt);
  const { sessionKey, updatedAt } = row;
  recent.splice(place < 0 ? recent.length : place, 0, { sessionKey, updatedAt });
  if (recent.length > RECENT) recent.pop();
};
