/**
 * Presence: who is connected to this gateway now, told to everybody a moment after it changes.
 */
import type { PresenceEntry, StateVersion } from '../../protocols/gateway/index.ts';
import type { Clock } from '../../runtime/index.ts';
import { type Connection, eventHead } from './connection.ts';
import { PRESENCE_INTERVAL_MS } from './limits.ts';

export class Presence {
  readonly #connections: ReadonlySet<Connection>;
  readonly #clock: Clock;
  #version = 1;
  #cancel: (() => void) | undefined;

  /** `connections`: those that have said a good hello. */
  constructor(connections: ReadonlySet<Connection>, clock: Clock) {
    this.#connections = connections;
    this.#clock = clock;
  }

  get stateVersion(): StateVersion {
    return { presence: this.#version, health: 1 };
  }

  entries(): PresenceEntry[] {
    return [...this.#connections].flatMap((connection) => entryOf(connection) ?? []);
  }

  /** Somebody came or went. */
  changed(): void {
    this.#version++;
    this.#cancel ??= this.#clock.after(PRESENCE_INTERVAL_MS, () => {
      this.#cancel = undefined;
      const payload = { presence: this.entries() };
      const head = eventHead('presence', payload, { stateVersion: this.stateVersion });
      for (const connection of this.#connections) connection.event(head);
    });
  }

  close(): void {
    this.#cancel?.();
  }
}

const entryOf = ({ client, remoteAddress }: Connection): PresenceEntry | undefined => {
  if (client === undefined) return undefined;
  const {
    id,
    displayName,
    version,
    platform,
    mode,
    deviceFamily,
    modelIdentifier,
    timeZone,
    instanceId,
  } = client.params.client;
  return {
    host: displayName ?? id,
    ...(remoteAddress === '' ? {} : { ip: remoteAddress }),
    version,
    platform,
    mode,
    ...(deviceFamily === undefined ? {} : { deviceFamily }),
    ...(modelIdentifier === undefined ? {} : { modelIdentifier }),
    ...(timeZone === undefined ? {} : { timeZone }),
    ...(instanceId === undefined ? {} : { instanceId }),
    roles: [client.role],
    scopes: [...client.scopes],
    reason: 'connect',
    ts: client.since,
    onlineSince: client.since,
  };
};
