/** A real system with a keyring on its embedded store, and the ring's times moved for tests. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { shippedActors } from '../../../../actors/index.ts';
import {
  type KeyRow,
  keyringAddress,
  KEYS_INDEX,
  type KeyringAdd,
  type KeyringRevoke,
  type KeyringRotate,
} from '../../../../protocols/security/keyring.ts';
import { createSystem, openEmbedded, type System } from '../../../../runtime/index.ts';

export async function openCell(): Promise<System> {
  const path = mkdtempSync(join(tmpdir(), 'troupe-keyring-'));
  const actors = shippedActors().filter(({ type }) => type === 'keyring');
  const system = await createSystem({ ...(await openEmbedded({ path })), actors, shards: 1 });
  onTestFinished(async () => {
    await system.stop();
    rmSync(path, { recursive: true, force: true });
  });
  return system;
}

export async function askKeyring(
  system: System,
  message: KeyringAdd | KeyringRotate | KeyringRevoke,
  tenant = 'default',
): Promise<KeyRow> {
  const principal = { sub: 'operator', roles: ['operator'] };
  const answer = await system.ask(keyringAddress(tenant), message, {
    principal,
    timeoutMs: 10_000,
  });
  if (answer.kind !== 'answered') throw new Error(JSON.stringify(answer));
  return answer.result as KeyRow;
}

export const readerOf =
  (system: System) =>
  (tenant: string, kid: string): KeyRow | undefined =>
    system.index.get<KeyRow>(KEYS_INDEX, tenant, kid);
