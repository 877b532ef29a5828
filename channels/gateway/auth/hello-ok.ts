/** The `hello-ok` frame, which answers a successful `connect`. */
import {
  BUFFERED_BYTES_MAX,
  FRAME_BYTES_MAX,
  GatewayEvents,
  type HelloOk,
  TICK_INTERVAL_MS,
} from '../../../protocols/gateway/index.ts';
import type { Clock } from '../../../runtime/index.ts';
import { METHOD_NAMES } from '../methods/index.ts';
import { type AgentNames, mainSessionKey } from '../../../operations/sessions/session-key.ts';
import type { HealthReport } from '../tenant/health-report.ts';
import type { Presence } from '../tenant/presence.ts';
import type { Connection } from '../transport/connection.ts';
import type { GatewayAuth } from './access.ts';
import type { Accepted } from './handshake.ts';

/** OpenClaw's clients request the model list only when this names `published-model-catalog`. */
const CAPABILITIES = ['published-model-catalog'] as const;

/** Facts about the gateway process; the same for all tenants. */
export type ProcessFacts = {
  readonly authMode: GatewayAuth['mode'];
  readonly version: string;
  /** identifies this run of the gateway; differs after a restart */
  readonly bootId: string;
  /** monotonic milliseconds */
  readonly startedAt: number;
  readonly clock: Clock;
};

/** What `hello-ok` contains about the gateway. */
export type HelloFacts = {
  readonly process: ProcessFacts;
  readonly names: AgentNames;
  readonly health: Pick<HealthReport, 'atHello'>;
  readonly presence: Pick<Presence, 'stateVersion' | 'encoded'>;
};

/** Encoded once: the same for all clients. */
const FEATURES = JSON.stringify({
  methods: METHOD_NAMES,
  events: Object.keys(GatewayEvents),
  capabilities: CAPABILITIES,
} satisfies Record<keyof HelloOk['features'], readonly string[]>);

/** Returns JSON. The connection is a member of its tenant already, so `presence` includes it. */
export const helloOk = (
  { process, names, health, presence }: HelloFacts,
  connection: Connection,
  { client, protocol, deviceToken }: Accepted,
): string => {
  // A client without a read scope receives only what it needs to send requests.
  const { mayRead } = connection;
  const snapshot: Omit<HelloOk['snapshot'], 'presence'> = {
    health: mayRead ? health.atHello() : { ok: true },
    stateVersion: presence.stateVersion,
    uptimeMs: Math.round(process.clock.monotonicMs() - process.startedAt),
    sessionDefaults: {
      defaultAgentId: names.defaultAgentId,
      mainKey: names.mainKey,
      mainSessionKey: mainSessionKey(names, names.defaultAgentId),
      scope: 'per-sender',
    },
    authMode: process.authMode,
  };
  const hello: Omit<HelloOk, 'features' | 'snapshot'> = {
    type: 'hello-ok',
    protocol,
    server: { version: process.version, connId: connection.id, bootId: process.bootId },
    auth: {
      role: client.role,
      scopes: [...client.scopes],
      ...(deviceToken === undefined ? {} : { deviceToken, issuedAtMs: client.since }),
    },
    policy: {
      maxPayload: FRAME_BYTES_MAX,
      maxBufferedBytes: BUFFERED_BYTES_MAX,
      tickIntervalMs: TICK_INTERVAL_MS,
    },
  };
  const clients = mayRead ? presence.encoded() : '[]';
  const encoded = withMember(JSON.stringify(snapshot), 'presence', clients);
  return withMember(withMember(JSON.stringify(hello), 'features', FEATURES), 'snapshot', encoded);
};

/** Adds a member, whose value is JSON already, to a JSON object that is not empty. */
const withMember = (object: string, name: string, value: string): string =>
  `${object.slice(0, -1)},"${name}":${value}}`;
