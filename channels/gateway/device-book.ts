/**
 * DeviceBook: the devices of one tenant as this gateway knows them: which of its connections are
 * nodes, what they are told, and what people who watch are told of all devices (GW3, ND1).
 *
 * Boundary: what must last is the device actor's; this is lost with the gateway and begins again
 * when its nodes come back.
 */
import type { Connection } from './connection.ts';

export class DeviceBook {
  /** A node has said hello. Its device is told what it can do. Never rejects. */
  async joined(_connection: Connection): Promise<void> {}

  /** A connection has ended. */
  left(_connection: Connection): void {}

  close(): void {}
}
