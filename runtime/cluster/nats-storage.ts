/** How much JetStream stores for the account of this process, and how much it may store. */
import { jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';

export type NatsStorage = {
  readonly usedBytes: number;
  /** absent where the account has no limit */
  readonly limitBytes?: number;
};

const TIMEOUT_MS = 2_000;

/** @throws when JetStream does not answer within two seconds */
export async function natsStorage(nc: NatsConnection): Promise<NatsStorage> {
  const manager = await jetstreamManager(nc, { timeout: TIMEOUT_MS, checkAPI: false });
  const { storage, limits } = await manager.getAccountInfo();
  const limitBytes = limits.max_storage;
  return { usedBytes: storage, ...(limitBytes > 0 ? { limitBytes } : {}) };
}
