/**
 * Creates the parts of one tenant's gateway in dependency order, connects them to the tenant's
 * events on the Bus, and closes them together.
 */
import { approvalsTopic } from '../../../protocols/approval.ts';
import { type RunEvent, runEventsOfTenant } from '../../../protocols/session.ts';
import { PendingApprovals } from './pending-approvals.ts';
import { Audience } from '../streams/audience.ts';
import { AuditTrail } from './audit-trail.ts';
import { ChatCommands } from './chat-commands.ts';
import type { Connection } from '../transport/connection.ts';
import { TenantDevices } from '../devices/tenant-devices.ts';
import { DeviceGuard } from '../auth/device-guard.ts';
import type { TenantGateway } from './tenant-gateway.ts';
import { HealthReport } from './health-report.ts';
import { MessageCounts } from '../sessions/message-counts.ts';
import type { GatewayOptions, TenantFace } from '../options.ts';
import { Presence } from './presence.ts';
import { Replay } from '../streams/replay.ts';
import { RunBlocks } from '../streams/run-blocks.ts';
import { LiveRuns } from '../streams/live-runs.ts';
import { RunEvents } from '../streams/run-events.ts';
import { SessionWatch } from '../streams/session-watch.ts';
import { WorkFeed } from '../streams/work-feed.ts';

/** What all doors of a gateway have in common. */
export type SharedParts = {
  readonly options: GatewayOptions;
  /** names this run of the gateway; differs after a restart */
  readonly bootId: string;
  /** monotonic milliseconds */
  readonly startedAt: number;
};

export type OpenTenantGateway = {
  readonly door: TenantGateway;
  /** resolves when what is noted of it is written, as far as it can be */
  readonly close: () => Promise<void>;
};

export const openTenantGateway = (house: SharedParts, tenant: string): OpenTenantGateway => {
  const { options, bootId, startedAt } = house;
  const { system, clock, log } = options;
  const face = options.ofTenant?.(tenant) ?? options;
  const hall = openHall(house, tenant, face);
  const talk = openTalk(house, tenant, { ...hall, face });
  const { connections, audience } = hall;
  const base = { system, tenant, connections, clock };
  const devices = new TenantDevices({
    ...base,
    connections: audience.everybody,
    gateway: bootId,
    log,
    payloads: options.payloads,
  });
  const guard = new DeviceGuard(base);
  const approvals = new PendingApprovals(system.index, tenant, clock, audience.everybody);
  const audit = new AuditTrail({ system, tenant, gateway: bootId, clock, log });
  const work = new WorkFeed({ system, tenant, names: face, audience });
  const { events, ...shown } = talk;
  const door: TenantGateway = {
    system,
    tenant,
    isHome: tenant === options.tenant,
    names: face,
    models: face.models,
    authMode: options.auth.mode,
    version: options.version,
    clock,
    log,
    setup: face.setup,
    onMessage: face.onMessage,
    bootId,
    startedAt,
    ...hall,
    ...shown,
    devices,
    guard,
    approvals,
    audit,
  };
  const { presence, replay, health } = hall;
  const { runs, watch } = talk;
  const parts = [events, runs, presence, replay, approvals, watch, devices, health, guard, work];
  const deaf = listen(door, work);
  const close = () => {
    deaf();
    for (const part of parts) part.close();
    return audit.close();
  };
  return { door, close };
};

/** Who is there, what they are told again, and how the house is. */
const openHall = ({ options, bootId }: SharedParts, tenant: string, face: TenantFace) => {
  const { system, clock } = options;
  const connections = new Set<Connection>();
  const replay = new Replay(connections, clock, bootId);
  const audience = new Audience(connections, replay);
  const told = { tenant, clock, audience };
  const { bus } = system;
  const presence = new Presence({ ...told, connections, bus, gateway: bootId });
  const health = new HealthReport({
    ...told,
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

/** What is said in sessions, and what people are told of it. */
const openTalk = (
  { options }: SharedParts,
  tenant: string,
  { audience, face }: Pick<TenantGateway, 'audience'> & { readonly face: TenantFace },
) => {
  const { system, clock, log } = options;
  const blocks = new RunBlocks(clock, face.blocks);
  const events = new RunEvents(audience, clock, blocks);
  const runs = new LiveRuns(system.index, tenant, clock, events);
  const base = { system, tenant, names: face, models: face.models, clock, log, runs };
  const commands = new ChatCommands({
    ...base,
    connections: audience,
    tell: (end, told) => events.tellEnd(end, told),
    onCommand: face.onCommand,
  });
  const watch = new SessionWatch(base);
  return { blocks, events, runs, commands, watch, counts: new MessageCounts() };
};

/** What travels on a topic is a contract of the protocol that names it. */
const listen = (door: TenantGateway, work: WorkFeed): (() => void) => {
  const { approvals, tenant } = door;
  const { bus } = door.system;
  const stops = [
    bus.subscribe(runEventsOfTenant(tenant), ({ payload }) =>
      hear(door, work, payload as RunEvent),
    ),
    bus.subscribe(approvalsTopic(tenant), ({ payload }) =>
      approvals.heard((payload as { id: string }).id),
    ),
  ];
  return () => {
    for (const stop of stops) stop();
  };
};

const hear = ({ runs, approvals, watch }: TenantGateway, work: WorkFeed, event: RunEvent): void => {
  runs.heard(event);
  watch.heard(event);
  if (event.stream === 'tool' && event.phase === 'approval') approvals.heard(event.approvalId);
  if (event.stream === 'subagent') work.heard(event);
};
