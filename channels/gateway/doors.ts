/**
 * Doors: one door per tenant, opened when its first client comes (SX4). A connection belongs to one
 * door for its whole life: it is told of that tenant's runs, approvals, devices and clients, and of
 * no other's.
 */
import { randomUUID } from 'node:crypto';
import { approvalsTopic } from '../../protocols/approval.ts';
import { type RunEvent, runEventsOfTenant } from '../../protocols/session.ts';
import { ApprovalBook } from './approval-book.ts';
import { Audience } from './audience.ts';
import { AuditTrail } from './audit-trail.ts';
import { CommandDesk } from './command-desk.ts';
import type { Connection } from './connection.ts';
import { DeviceBook } from './device-book.ts';
import { DeviceGuard } from './device-guard.ts';
import { type Door, OPERATOR } from './door.ts';
import { HealthBook } from './health-book.ts';
import type { GatewayOptions } from './options.ts';
import { MessageCounts } from './message-counts.ts';
import { Presence } from './presence.ts';
import { Replay } from './replay.ts';
import { RunBlocks } from './run-blocks.ts';
import { RunBook } from './run-book.ts';
import { RunEvents } from './run-events.ts';
import { WorkFeed } from './work-feed.ts';
import { SessionWatch } from './session-watch.ts';

export class Doors {
  readonly #options: GatewayOptions;
  readonly #open = new Map<string, { readonly door: Door; readonly close: () => Promise<void> }>();
  /** names this run of the gateway; differs after a restart */
  readonly #bootId = randomUUID();
  readonly #startedAt: number;

  constructor(options: GatewayOptions) {
    this.#options = options;
    this.#startedAt = options.clock.monotonicMs();
  }

  /** Tenants are those that the configuration names, so there are few. */
  of(tenant: string): Door {
    const known = this.#open.get(tenant);
    if (known !== undefined) return known.door;
    const opened = this.#openDoor(tenant);
    this.#open.set(tenant, opened);
    return opened.door;
  }

  /** Connections that have said hello, of every tenant. */
  *connections(): Generator<Connection> {
    for (const { door } of this.#open.values()) yield* door.connections;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map(({ close }) => close()));
  }

  #openDoor(tenant: string): { readonly door: Door; readonly close: () => Promise<void> } {
    const { system, clock, log } = this.#options;
    const connections = new Set<Connection>();
    const { guard, devices } = this.#openDevices(tenant, connections);
    const blocks = new RunBlocks(clock);
    const replay = new Replay(connections, clock, this.#bootId);
    const audience = new Audience(connections, replay);
    const events = new RunEvents(audience, clock, blocks);
    const runs = new RunBook(system.index, tenant, clock, events);
    const { presence, health } = this.#openPresence(tenant, connections, audience);
    const approvals = new ApprovalBook(system.index, tenant, clock, audience.everybody);
    const commands = this.#openDesk(tenant, runs, events, audience);
    const watch = new SessionWatch({ system, tenant, names: this.#options, runs, log, clock });
    const audit = new AuditTrail({ system, tenant, gateway: this.#bootId, clock, log });
    const door: Door = {
      system,
      tenant,
      names: this.#options,
      authMode: this.#options.auth.mode,
      version: this.#options.version,
      clock,
      log,
      connections,
      audience,
      replay,
      runs,
      presence,
      health,
      ...(this.#options.setup ? { setup: this.#options.setup } : {}),
      approvals,
      watch,
      devices,
      guard,
      audit,
      blocks,
      commands,
      counts: new MessageCounts(),
      onMessage: this.#options.onMessage,
      bootId: this.#bootId,
      startedAt: this.#startedAt,
    };
    const work = new WorkFeed({ system, tenant, names: this.#options, audience });
    const parts = [events, runs, presence, replay, approvals, watch, devices, health, guard, work];
    const deaf = listen(door, work);
    const close = () => {
      deaf();
      for (const part of parts) part.close();
      return audit.close();
    };
    return { door, close };
  }

  #openDevices(tenant: string, connections: ReadonlySet<Connection>) {
    const { system, clock, log, payloads } = this.#options;
    const gateway = this.#bootId;
    return {
      guard: new DeviceGuard({ system, tenant, connections, clock }),
      devices: new DeviceBook({ system, tenant, gateway, connections, clock, log, payloads }),
    };
  }

  #openPresence(tenant: string, connections: ReadonlySet<Connection>, audience: Audience) {
    const { system, clock, version } = this.#options;
    const gateway = this.#bootId;
    const { bus } = system;
    const presence = new Presence({ connections, audience, bus, tenant, gateway, clock });
    const health = new HealthBook({
      system,
      tenant,
      names: this.#options,
      clock,
      version,
      audience,
      onChange: (of) => {
        presence.healthVersion = of;
        return presence.stateVersion;
      },
    });
    return { presence, health };
  }

  #openDesk(tenant: string, runs: RunBook, events: RunEvents, audience: Audience): CommandDesk {
    const { system, clock, log, onCommand } = this.#options;
    return new CommandDesk({
      system,
      tenant,
      names: this.#options,
      clock,
      log,
      runs,
      principal: OPERATOR,
      connections: audience,
      tell: (end, told) => events.tellEnd(end, told),
      onCommand,
    });
  }
}

/** What travels on a topic is a contract of the protocol that names it. */
const listen = (door: Door, work: WorkFeed): (() => void) => {
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

const hear = ({ runs, approvals, watch }: Door, work: WorkFeed, event: RunEvent): void => {
  runs.heard(event);
  watch.heard(event);
  if (event.stream === 'tool' && event.phase === 'approval') approvals.heard(event.approvalId);
  if (event.stream === 'subagent') work.heard(event);
};
