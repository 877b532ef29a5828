/**
 * The actions that a tenant can request: those of local agents, and those that external agents have
 * registered. An entry point reads them for every envelope, so there is a table per tenant, rebuilt
 * from the registry's rows when it is older than FRESH_MS.
 *
 * Preference: local agents before external ones, live agents before degraded ones, the requested or
 * a newer version of the same MAJOR. An action of a local agent is always offered: accepted tasks
 * wait for a worker. Only authorized agents serve the actions of others (actors/listing/rights.ts).
 */
import { createHash } from 'node:crypto';
import type { Offer, Offers } from '../../protocols/offers.ts';
import { rightsAmong } from '../listing/rights.ts';
import { type ActionDefinition, specOf } from './action.ts';
import { type ActionCatalog, termsOf } from './catalog.ts';
import {
  type ActionSpec,
  AGENTS_INDEX,
  type AgentRow,
  majorOf,
  serves,
} from '../../protocols/action.ts';
import { type CheckError, checker } from '../../protocols/check.ts';
import type { Payload } from '../../protocols/envelope.ts';
import type { ErrorData } from '../../protocols/errors.ts';
import { ATTEMPTS_MAX, type TaskTerms } from '../../protocols/task.ts';
import {
  type Clock,
  type Index,
  LruMap,
  schemaCheck,
  type SchemaCheck,
  type System,
  systemClock,
} from '../../runtime/index.ts';

/** Rows change rarely: a table may be so old, */
const FRESH_MS = 1_000;
/**
 * or this multiple of the time to build it: a large registry costs at most a twentieth of the time.
 */
const FRESH_SHARE = 20;
/** Tenants with a cached table; the table created first is dropped. */
const TENANTS_MAX = 1_000;
/** Compiled schemas of external agents; the one compiled first is dropped. */
const COMPILED_MAX = 2_000;
const BACKOFF_MS = { first: 1_000, max: 60_000 };

export type OffersOptions = {
  readonly catalog: ActionCatalog;
  readonly system: Pick<System, 'index'>;
  /** actions that every entry point serves itself: listed among the offers, never found */
  readonly controls?: readonly ActionSpec[];
  /** called for each requested tenant, from time to time */
  readonly onTenant?: (tenant: string) => void;
  readonly clock?: Clock;
};

export const createOffers = (options: OffersOptions): Offers => new TenantOffers(options);

/** One MAJOR version of an action, by one agent. */
type Entry = {
  readonly offer: Offer;
  readonly sunsetMs: number;
  readonly rank: Rank;
};
const RANK = { local: 0, live: 1, degraded: 2, gone: 3 } as const;
type Rank = (typeof RANK)[keyof typeof RANK];

type Table = {
  /** monotonic, when it was begun, and how long it took */
  readonly madeMs: number;
  readonly tookMs: number;
  readonly freshUntilMs: number;
  /** by action; the best first */
  readonly byAction: ReadonlyMap<string, readonly Entry[]>;
};

class TenantOffers implements Offers {
  readonly #index: Index;
  readonly #clock: Clock;
  readonly #controls: readonly ActionSpec[];
  readonly #onTenant: (tenant: string) => void;
  /** the same for all tenants, except for `tenant` and for deprecations in their registries */
  readonly #local: readonly LocalOffer[];
  readonly #ownNames: ReadonlySet<string>;
  readonly #tables = new LruMap<string, Table>(TENANTS_MAX);
  readonly #schemas = new SchemaChecks();

  constructor(options: OffersOptions) {
    const { catalog, system, controls = [], onTenant = () => {}, clock = systemClock } = options;
    this.#index = system.index;
    this.#clock = clock;
    this.#controls = controls;
    this.#onTenant = onTenant;
    this.#local = catalog.all().map((definition) => new LocalOffer(definition));
    this.#ownNames = new Set(this.#local.map(({ spec }) => spec.action));
  }

  find(
    tenant: string,
    action: string,
    version: string,
  ): { readonly offer: Offer } | { readonly refused: ErrorData } {
    const found = this.#findIn(this.#table(tenant), action, version);
    if ('offer' in found) return found;
    // A caller that has just registered an action finds it: no refusal comes from an old table.
    const newer = this.#newerTable(tenant);
    return newer ? this.#findIn(newer, action, version) : found;
  }

  #findIn(
    { byAction }: Table,
    action: string,
    version: string,
  ): { readonly offer: Offer } | { readonly refused: ErrorData } {
    const nowMs = this.#clock.wallMs();
    const entries = byAction.get(action);
    if (!entries) return { refused: noSuchAction(action) };
    const open = entries.filter(({ sunsetMs }) => sunsetMs > nowMs);
    const fitting = open.filter(({ offer }) => serves(offer.spec.action_version, version));
    const best = fitting[0];
    if (!best) return { refused: noSuchVersion(action, version, entries, open) };
    if (best.rank === RANK.gone) return { refused: allGone(action) };
    return { offer: best.offer };
  }

  all(tenant: string): readonly ActionSpec[] {
    const nowMs = this.#clock.wallMs();
    const specs = new Map<string, ActionSpec>();
    for (const entries of this.#table(tenant).byAction.values()) {
      for (const { offer, sunsetMs, rank } of entries) {
        const { spec } = offer;
        const key = `${spec.action} ${spec.action_version}`;
        if (sunsetMs > nowMs && rank !== RANK.gone && !specs.has(key)) specs.set(key, spec);
      }
    }
    return [...this.#controls, ...specs.values()].toSorted(bySpec);
  }

  #table(tenant: string): Table {
    const known = this.#tables.get(tenant);
    if (known && this.#clock.monotonicMs() < known.freshUntilMs) return known;
    return this.#makeTable(tenant);
  }

  /** undefined if the table was built just now, so that misses use at most half of the time. */
  #newerTable(tenant: string): Table | undefined {
    const { madeMs, tookMs } = this.#table(tenant);
    const isNew = this.#clock.monotonicMs() - madeMs <= 2 * tookMs;
    return isNew ? undefined : this.#makeTable(tenant);
  }

  #makeTable(tenant: string): Table {
    const madeMs = this.#clock.monotonicMs();
    this.#onTenant(tenant);
    const byAction = this.#entries(tenant);
    const nowMs = this.#clock.monotonicMs();
    const tookMs = nowMs - madeMs;
    const freshMs = Math.max(FRESH_MS, FRESH_SHARE * tookMs);
    const table = { madeMs, tookMs, freshUntilMs: nowMs + freshMs, byAction };
    this.#tables.set(tenant, table);
    return table;
  }

  #entries(tenant: string): ReadonlyMap<string, readonly Entry[]> {
    const rows = this.#index.list<AgentRow>(AGENTS_INDEX, tenant).map(({ value }) => value);
    const rights = rightsAmong(rows, this.#ownNames);
    const byId = new Map(rows.map((row) => [row.agent_id, row]));
    const local = this.#local
      .filter((offer) => offer.tenant === undefined || offer.tenant === tenant)
      .map((offer) => entryOf(offer.as(shownIn(byId, offer)), RANK.local));
    const outside = rows
      .filter(({ url }) => url !== undefined)
      .flatMap((row) =>
        row.actions
          .filter(({ action }) => rights.mayServe(row, action))
          .map((spec) =>
            entryOf(new RemoteOffer(row.agent_id, spec, this.#schemas), RANK[row.status]),
          ),
      );
    const byAction = new Map<string, Entry[]>();
    for (const entry of [...local, ...outside]) {
      const { action } = entry.offer.spec;
      const entries = byAction.get(action);
      if (entries) entries.push(entry);
      else byAction.set(action, [entry]);
    }
    for (const entries of byAction.values()) entries.sort(byFitness);
    return byAction;
  }
}

/** What the registry shows of an action of this code: it may have been deprecated there. */
const shownIn = (
  byId: ReadonlyMap<string, AgentRow>,
  { spec, agent }: LocalOffer,
): ActionSpec | undefined =>
  byId
    .get(agent)
    ?.actions.find(
      ({ action, action_version }) =>
        action === spec.action && majorOf(action_version) === majorOf(spec.action_version),
    );

const entryOf = (offer: Offer, rank: Rank): Entry => {
  const { sunset_at } = offer.spec;
  const sunsetMs = sunset_at === undefined ? Number.POSITIVE_INFINITY : Date.parse(sunset_at);
  return { offer, sunsetMs, rank };
};

const byFitness = (a: Entry, b: Entry): number =>
  a.rank - b.rank || compareVersions(b.offer.spec.action_version, a.offer.spec.action_version);
const bySpec = (a: ActionSpec, b: ActionSpec): number =>
  compare(a.action, b.action) || compareVersions(a.action_version, b.action_version);
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
const compareVersions = (a: string, b: string): number =>
  a === b ? 0 : serves(a, b) ? 1 : majorOf(a) - majorOf(b) || -1;

// ---- offers

/** A payload may be confidential even if its action is not marked sensitive. */
const NO_VALUES = { secret: /^/ };

const AT_PAYLOAD = (errors: readonly CheckError[]): readonly CheckError[] =>
  errors.map((error) => ({ ...error, path: `/payload${error.path}` }));

const noSuchSchema = ({ schemas }: ActionSpec): CheckError => ({
  path: '/payload/schema_version',
  message: `must be one of ${Object.keys(schemas)
    .map((version) => JSON.stringify(version))
    .join(', ')}`,
});

/** An action of this code. */
class LocalOffer implements Offer {
  readonly spec: ActionSpec;
  readonly agent: string;
  /** the only tenant that it is offered to; undefined: all */
  readonly tenant: string | undefined;
  readonly check: Offer['check'];
  readonly terms: Offer['terms'];
  #shown: { readonly sunset: string | undefined; readonly offer: Offer } | undefined;

  constructor(definition: ActionDefinition) {
    const checks = new Map(
      Object.entries(definition.schemas).map(([version, schema]) => [
        version,
        checker(schema, NO_VALUES),
      ]),
    );
    this.spec = specOf(definition);
    this.agent = definition.agent;
    this.tenant = definition.tenant;
    this.check = (payload) => {
      const answer = checks.get(payload.schema_version)?.(payload);
      if (!answer) return [noSuchSchema(this.spec)];
      return answer.ok ? [] : AT_PAYLOAD(answer.errors);
    };
    this.terms = (envelope, taskId) => termsOf(definition, envelope, taskId);
  }

  /** With the sunset that the registry shows. */
  as(shown: ActionSpec | undefined): Offer {
    const sunset = shown?.sunset_at;
    if (sunset === undefined || sunset === this.spec.sunset_at) return this;
    if (this.#shown?.sunset !== sunset) {
      const spec = { ...this.spec, deprecated: true, sunset_at: sunset };
      this.#shown = { sunset, offer: { spec, check: this.check, terms: this.terms } };
    }
    return this.#shown.offer;
  }
}

/** An action of an external agent: a task of it is performed by an agent that is live then. */
class RemoteOffer implements Offer {
  readonly spec: ActionSpec;
  readonly #agent: string;
  readonly #schemas: SchemaChecks;

  constructor(agent: string, spec: ActionSpec, schemas: SchemaChecks) {
    this.#agent = agent;
    this.spec = spec;
    this.#schemas = schemas;
  }

  readonly check = async (payload: Payload): Promise<readonly CheckError[]> => {
    const schema = Object.hasOwn(this.spec.schemas, payload.schema_version)
      ? this.spec.schemas[payload.schema_version]
      : undefined;
    return schema
      ? AT_PAYLOAD((await this.#schemas.of(schema))(payload))
      : [noSuchSchema(this.spec)];
  };

  readonly terms = (): TaskTerms => ({
    performer: { kind: 'remote' },
    agent: this.#agent,
    etaSec: this.spec.eta_sec,
    attemptsMax: ATTEMPTS_MAX,
    backoffMs: BACKOFF_MS,
    // What it did it undoes itself, when its own task is cancelled.
    compensable: this.spec.compensable,
    sensitive: false,
    evidence: false,
  });
}

/** Compiled at the first use; the same schema of two agents is compiled once. */
class SchemaChecks {
  readonly #byDigest = new LruMap<string, SchemaCheck>(COMPILED_MAX);
  readonly #bySchema = new WeakMap<object, SchemaCheck>();

  /** @throws TroupeError INVALID_ARGUMENT; not for a schema that was registered */
  async of(schema: Record<string, unknown>): Promise<SchemaCheck> {
    const known = this.#bySchema.get(schema);
    if (known) return known;
    const digest = createHash('sha256').update(JSON.stringify(schema)).digest('base64');
    const check = this.#byDigest.get(digest) ?? (await schemaCheck(schema));
    this.#byDigest.set(digest, check);
    this.#bySchema.set(schema, check);
    return check;
  }
}

// ---- refusals

const noSuchAction = (action: string): ErrorData => ({
  code: 'NOT_FOUND',
  message: `no agent offers the action ${action}: GET /mcp/capabilities lists those on offer`,
});

const noSuchVersion = (
  action: string,
  version: string,
  all: readonly Entry[],
  open: readonly Entry[],
): ErrorData => {
  const supported = [...new Set(open.map(({ offer }) => offer.spec.action_version))].sort(
    compareVersions,
  );
  const ended = all.find(
    ({ offer, sunsetMs }) =>
      Number.isFinite(sunsetMs) &&
      !open.some((one) => one.offer === offer) &&
      serves(offer.spec.action_version, version),
  );
  const why = ended ? `ended on ${ended.offer.spec.sunset_at}` : 'is not served';
  const hint =
    supported.length > 0 ? `use ${supported.join(' or ')}` : 'no version of it is served any more';
  return {
    code: 'INVALID_ARGUMENT',
    message: `version ${version} of ${action} ${why}: ${hint}`,
    details: {
      supported,
      errors: [{ path: '/action_version', message: `must be served: ${hint}` }],
    },
  };
};

/** An agent may return between two heartbeats. */
const GONE_RETRY_MS = 60_000;
const allGone = (action: string): ErrorData => ({
  code: 'UNAVAILABLE',
  message: `all agents that serve ${action} are gone: send it again with the same idempotency_key when one is back`,
  retryAfterMs: GONE_RETRY_MS,
});
