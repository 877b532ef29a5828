/**
 * The end of an upgrade by a process that is not part of the cell, with its record in the audit.
 */
import { randomUUID } from 'node:crypto';
import { shippedActors } from '../actors/index.ts';
import { DEFAULT_TENANT } from '../protocols/address.ts';
import { auditAddress, auditDay, type AuditNote } from '../protocols/audit.ts';
import { TroupeError } from '../protocols/errors.ts';
import { SYSTEM_PRINCIPAL } from '../protocols/security/principals.ts';
import type { Finished, UpgradeStatus } from '../protocols/upgrade.ts';
import { createRegistry } from '../runtime/actor/registry.ts';
import { CellFormat } from '../runtime/cell-format.ts';
import { type SystemOptions, systemClock } from '../runtime/index.ts';
import { MessageClient } from '../runtime/message-client.ts';
import packageJson from '../package.json' with { type: 'json' };
import { type LiveProcesses, Upgrade } from '../runtime/upgrade.ts';

export type CellToUpgrade = Pick<SystemOptions, 'store' | 'bus'> & {
  readonly env: string;
  readonly shards: number;
  /** the processes that use the cell; absent: none can */
  readonly live?: LiveProcesses;
};

/** The record may wait this long for the next start. */
const AUDIT_MS = 365 * 24 * 3_600_000;

/** @throws TroupeError as `System.upgrade` */
export const statusOfCell = async (cell: CellToUpgrade): Promise<UpgradeStatus> =>
  (await upgradeOf(cell)).upgrade.status();

/**
 * @param by who does it
 * @throws TroupeError as `System.upgrade`
 */
export async function finishCell(cell: CellToUpgrade, by: string): Promise<Finished> {
  const { format, upgrade } = await upgradeOf(cell);
  const at = systemClock.wallMs();
  const finished = await upgrade.finish(by, at);
  if (finished.raised) await record(cell, format, { at, by });
  return finished;
}

async function upgradeOf(cell: CellToUpgrade): Promise<{ format: CellFormat; upgrade: Upgrade }> {
  const format = await CellFormat.open(cell.store.log, cell.env);
  const registry = createRegistry([]);
  const { version } = packageJson;
  const upgrade = new Upgrade(() => ({ format, registry, version, hosting: cell.live }));
  return { format, upgrade };
}

/** In the mailbox of the audit: the next process that owns its shard stores it. */
async function record(
  { store, bus, env, shards }: CellToUpgrade,
  format: CellFormat,
  { at, by }: { at: number; by: string },
): Promise<void> {
  const { log, cell } = store;
  const client = new MessageClient({
    log,
    cell,
    bus,
    env,
    shards,
    format,
    clock: systemClock,
    worker: `command-${randomUUID()}`,
    registry: createRegistry(shippedActors()),
    statusOf: () => undefined,
  });
  const note: AuditNote = {
    type: 'audit.note',
    records: [{ at, who: by, by: 'command', action: 'upgrade.finish', outcome: 'done' }],
  };
  const to = auditAddress(DEFAULT_TENANT, auditDay(at));
  const sent = await client.tell(to, note, { principal: SYSTEM_PRINCIPAL, ttlMs: AUDIT_MS });
  client.close();
  if (sent.kind === 'refused') {
    const { code, message } = sent.error;
    throw new TroupeError(code, `the upgrade is finished, but not in the audit: ${message}`);
  }
}
