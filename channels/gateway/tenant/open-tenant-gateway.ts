/**
 * Creates the parts of one tenant's gateway in dependency order, connects them to the tenant's
 * events on the Bus, and closes them together.
 */
import { approvalsTopic } from '../../../protocols/approval.ts';
import { type RunEvent, runEventsOfTenant } from '../../../protocols/session.ts';
import { PendingApprovals } from './pending-approvals.ts';
import { ActorWatch } from '../streams/actor-watch.ts';
import { Audience } from '../streams/audience.ts';
import { AuditTrail } from './audit-trail.ts';
import { ChatCommands } from './chat-commands.ts';
import type { Connection } from '../transport/connection.ts';
import { TenantDevices } from '../devices/tenant-devices.ts';
import type { ProcessFacts } from '../auth/hello-ok.ts';
import { DeviceGuard } from '../auth/device-guard.ts';
import { TenantGateway } from './tenant-gateway.ts';
import { HealthReport } from './health-report.ts';
import { MessageCounts } from '../sessions/message-counts.ts';
import type { GatewayOptions, TenantOptions } from '../options.ts';
import { Presence } from './presence.ts';
import { Replay } from '../streams/replay.ts';
import { RunBlocks } from '../streams/run-blocks.ts';
import { LiveRuns } from '../streams/live-runs.ts';
import { RunEvents } from '../streams/run-events.ts';
import { SessionWatch } from '../streams/session-watch.ts';
import { WorkFeed } from '../streams/work-feed.ts';

/** What the gateways of all tenants share. */
export type SharedParts = {
  readonly options: GatewayOptions;
  /** identifies this run of the gateway; differs after a restart */
  readonly bootId: string;
  /** monotonic milliseconds */
  readonly startedAt: number;
};

export type OpenTenantGateway = {
  readonly gateway: TenantGateway;
  /** resolves when pending audit records are written, or cannot be written */
  readonly close: () => Promise<void>;
};

/** One tenant, and how the gateway presents it. */
type Opening = SharedParts & { readonly tenant: string; readonly face: TenantOptions };

export const openTenantGateway = (shared: SharedParts, tenant: string): OpenTenantGateway => {
  const { options, bootId } = shared;
  const { system, clock, log } = options;
  const face = options.ofTenant?.(tenant) ?? options;
  const opening: Opening = { ...shared, tenant, face };
  const clients = createClientParts(opening);
  const { connections, audience, presence, replay, health } = clients;
  const { events, ...runs } = createRunParts(opening, audience);
  const devices = createDeviceParts(opening, clients);
  const approvals = new PendingApprovals(
    system.index,
    tenant,
    clock,
    audience.includingUnprivileged,
  );
  const audit = new AuditTrail({ system, tenant, gateway: bootId, clock, log });
  const work = new WorkFeed({ system, tenant, names: face, audience });
  const gateway = new TenantGateway({
    membership: { connections, replay, presence, ...devices },
    hello: { process: processFacts(shared), names: face, health, presence },
    methods: { ...sharedContext(opening), ...clients, ...runs, ...devices, approvals },
    audit,
    log,
  });
  const stopEvents = subscribe(opening, { ...runs, approvals, work });
  const parts = [events, runs.runs, presence, replay, approvals, runs.watch, runs.actorWatch];
  const close = () => {
    stopEvents();
    for (const part of [...parts, devices.devices, health, devices.guard, work]) part.close();
    return audit.close();
  };
  return { gateway, close };
};

const processFacts = ({ options, bootId, startedAt }: SharedParts): ProcessFacts => {
  const { auth, version, clock } = options;
  return { authMode: auth.mode, version, bootId, startedAt, clock };
};

/** The part of the method context that comes from the options. */
const sharedContext = ({ options, bootId, tenant, face }: Opening) => ({
  system: options.system,
  clock: options.clock,
  tenant,
  isHome: tenant === options.tenant,
  names: face,
  models: face.models,
  setup: face.setup,
  operations: options.operations,
  onMessage: face.onMessage,
  bootId,
});

/** Connections, their replay and presence, and the health report. */
const createClientParts = ({ options, bootId, tenant, face }: Opening) => {
  const { system, clock } = options;
  const connections = new Set<Connection>();
  const replay = new Replay(connections, clock, bootId);
  const audience = new Audience(connections, replay);
  const base = { tenant, clock, audience };
  const { bus } = system;
  const presence = new Presence({ ...base, connections, bus, gateway: bootId });
  const health = new HealthReport({
    ...base,
    system,
    names: face,
    version: options.version,
    onChange: (version) => {
      presence.healthVersion = version;
      return presence.stateVersion;
    },
  });
  return { connections, replay, audience, presence, health };
};

/** Runs, their events, and chat commands. */
const createRunParts = ({ options, tenant, face }: Opening, audience: Audience) => {
  const { system, clock, log } = options;
  const blocks = new RunBlocks(clock, face.blocks);
  const events = new RunEvents(audience, clock, blocks);
  const runs = new LiveRuns(system.index, tenant, clock, events);
  const base = { system, tenant, names: face, models: face.models, clock, log, runs };
  const commands = new ChatCommands({
    ...base,
    connections: audience,
    publish: (end, receivers) => events.sendCommandResult(end, receivers),
    onCommand: face.onCommand,
  });
  const watch = new SessionWatch(base);
  const maskSecrets = options.operations?.maskSecrets ?? ((text: string) => text);
  const actorWatch = new ActorWatch({ system, clock, log, maskSecrets });
  return { blocks, events, runs, commands, watch, actorWatch, counts: new MessageCounts() };
};

const createDeviceParts = (
  { options, bootId, tenant }: Opening,
  { connections, audience }: { connections: Set<Connection>; audience: Audience },
) => {
  const { system, clock, log, payloads } = options;
  const base = { system, tenant, connections, clock };
  const devices = new TenantDevices({
    ...base,
    connections: audience.includingUnprivileged,
    gateway: bootId,
    log,
    payloads,
  });
  return { devices, guard: new DeviceGuard(base) };
};

type EventReceivers = {
  readonly runs: LiveRuns;
  readonly watch: SessionWatch;
  readonly approvals: PendingApprovals;
  readonly work: WorkFeed;
};

/** Passes events of the Bus to the parts. The protocol of each topic defines the payload's type. */
const subscribe = ({ options, tenant }: Opening, receivers: EventReceivers): (() => void) => {
  const { bus } = options.system;
  const stops = [
    bus.subscribe(runEventsOfTenant(tenant), ({ payload }) =>
      onRunEvent(receivers, payload as RunEvent),
    ),
    bus.subscribe(approvalsTopic(tenant), ({ payload }) =>
      receivers.approvals.onNotice((payload as { id: string }).id),
    ),
  ];
  return () => {
    for (const stop of stops) stop();
  };
};

const onRunEvent = ({ runs, approvals, watch, work }: EventReceivers, event: RunEvent): void => {
  runs.onEvent(event);
  watch.onRunEvent(event);
  if (event.stream === 'tool' && event.phase === 'approval') approvals.onNotice(event.approvalId);
  if (event.stream === 'subagent') work.onSubagentEvent(event);
};
