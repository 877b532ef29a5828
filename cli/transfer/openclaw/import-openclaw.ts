/**
 * `troupe import openclaw`: takes over an installation of OpenClaw, which is only read.
 *
 * Invariants: each item is written by a durable operation that may be repeated, and then recorded
 * in the account; an item that fails is named, and the others are imported. A repeated import
 * writes only what is new.
 */
import type { GatewayClient } from '../../../client/gateway-client.ts';
import type { LeftOut } from '../../../installation/openclaw/found.ts';
import { fieldsOf, textOf } from '../../../installation/openclaw/found.ts';
import {
  defaultStateFolder,
  type OpenClaw,
  readOpenClaw,
} from '../../../installation/openclaw/read.ts';
import { table } from '../../../operations/text.ts';
import { errorData } from '../../../protocols/errors.ts';
import { exitCodes } from '../../exit.ts';
import { type CommonOptions, loadFrom } from '../../options.ts';
import { printJson } from '../../output.ts';
import { type ShowProgress, withProgress } from '../../progress.ts';
import { callOf } from '../../sessions/export-sessions.ts';
import { Account } from './account.ts';
import { agentItems, fileItems } from './agent-items.ts';
import type { Destination, Item, Line } from './items.ts';
import { deviceItems, jobItems } from './other-items.ts';
import { withOwnGateway } from './own-gateway.ts';
import { proposalItems, secretItems } from './secret-items.ts';
import { sessionItems } from './session-items.ts';

export type ImportOpenClawOptions = CommonOptions & {
  readonly dryRun?: boolean;
  readonly withSecrets?: boolean;
  /** jobs fire here from now on: OpenClaw is stopped permanently */
  readonly enableSchedules?: boolean;
};

const SAVE_EVERY_MS = 2_000;

type Plan = { readonly items: readonly Item[]; readonly lines: readonly Line[] };

/**
 * Returns exit code 1 when something was damaged or refused.
 * @throws TroupeError NOT_FOUND without an installation there; INVALID_ARGUMENT when this Node is
 *   too old for it; UNAVAILABLE
 */
export async function importOpenClaw(
  path: string | undefined,
  options: ImportOpenClawOptions,
): Promise<number> {
  const { config } = await loadFrom(options);
  const account = new Account(config.home);
  const openclaw = await readOpenClaw(path ?? defaultStateFolder(process.env));
  try {
    for (const warning of openclaw.warnings) process.stderr.write(`${warning}\n`);
    const plan = planOf(openclaw, config.home, { ...options, account });
    const lines = options.dryRun
      ? plan.items.map((item) => lineOf(item, beforeOf(item, account, options) ?? 'new'))
      : await writeAll(plan.items, account, options);
    return report(openclaw, [...lines, ...plan.lines], { ...options, account });
  } finally {
    openclaw.close();
  }
}

function planOf(
  openclaw: OpenClaw,
  home: string,
  { withSecrets = false, account }: ImportOpenClawOptions & { readonly account: Account },
): Plan {
  const main = openclaw.agents.find(({ isDefault }) => isDefault)?.id ?? 'main';
  const mainKey = textOf(fieldsOf(openclaw.config['session'])['mainKey'])?.toLowerCase() ?? 'main';
  const sessions = sessionItems(openclaw);
  const jobs = jobItems(openclaw.jobs, main, mainKey);
  const agents = agentItems(openclaw, sessions.agents);
  const files = fileItems(openclaw);
  const devices = deviceItems(openclaw.devices);
  const secrets = secretItems(openclaw, home, withSecrets);
  const proposal = proposalItems(openclaw, home, { withSecrets, account });
  const leftOut = [openclaw, agents, sessions, files, jobs, devices, proposal].flatMap(
    (part): readonly LeftOut[] => part.leftOut,
  );
  const parts = [agents, sessions, files, jobs, devices, secrets, proposal];
  return {
    items: parts.flatMap((part): readonly Item[] => part.items),
    lines: [...secrets.lines, ...leftOut.map(leftOutLine)],
  };
}

const leftOutLine = ({ kind, id, reason, isDamaged }: LeftOut): Line => ({
  kind,
  id,
  status: isDamaged ? 'damaged' : 'skipped',
  detail: reason,
});

const lineOf = ({ kind, id, target, detail }: Item, status: Line['status']): Line => ({
  kind,
  id,
  target,
  status,
  detail,
});

/** What the account says; undefined: the item is to be written. */
function beforeOf(
  { kind, id, hash }: Item,
  account: Account,
  { enableSchedules = false }: ImportOpenClawOptions,
): 'before' | 'changed' | undefined {
  const before = account.of(kind, id);
  if (before === undefined || kind === 'config') return undefined;
  if (kind === 'schedule' && enableSchedules) return undefined;
  // Written again with the proposal, which follows the configuration of OpenClaw.
  if (kind === 'binding' && before.hash !== hash) return undefined;
  return before.hash === hash ? 'before' : 'changed';
}

async function writeAll(
  items: readonly Item[],
  account: Account,
  options: ImportOpenClawOptions,
): Promise<readonly Line[]> {
  const due = items.filter((item) => beforeOf(item, account, options) === undefined);
  const written = new Map<Item, Line>();
  try {
    const write = async (client: GatewayClient, show: ShowProgress): Promise<void> => {
      const { enableSchedules = false } = options;
      const to: Destination = { client, options, call: callOf(client, {}), enableSchedules };
      let saved = Date.now();
      for (const item of due) {
        show(`item ${written.size + 1} of ${due.length}: ${item.kind}`);
        written.set(item, await writeOne(item, to, account));
        // After a crash, at most the items of this time are compared with what is here.
        if (Date.now() - saved < SAVE_EVERY_MS) continue;
        account.save();
        saved = Date.now();
      }
    };
    await withProgress(({ show }) => withOwnGateway(options, (client) => write(client, show)));
  } finally {
    account.save();
  }
  return items.map(
    (item) => written.get(item) ?? lineOf(item, beforeOf(item, account, options) ?? 'new'),
  );
}

/** @throws TroupeError UNAVAILABLE and other failures that concern every item */
async function writeOne(item: Item, to: Destination, account: Account): Promise<Line> {
  const { kind, id, hash, target } = item;
  try {
    const status = await item.write(to);
    account.add(kind, id, { hash, target });
    return lineOf(item, status);
  } catch (error) {
    const { code, message } = errorData(error);
    if (code === 'UNAVAILABLE' || code === 'UNAUTHORIZED') throw error;
    return { ...lineOf(item, 'refused'), detail: message };
  }
}

function report(
  { state, layouts, warnings }: OpenClaw,
  lines: readonly Line[],
  { json, dryRun = false, account }: ImportOpenClawOptions & { readonly account: Account },
): number {
  const counts: Record<string, number> = {};
  for (const { status } of lines) counts[status] = (counts[status] ?? 0) + 1;
  const source = { source: state, layouts: [...layouts], dryRun, account: account.path };
  if (json) printJson({ ...source, warnings, counts, items: lines });
  else {
    const rows = lines.map(({ kind, id, target = '', status, detail = '' }) => {
      return [kind, id, target, status, detail];
    });
    const sums = Object.entries(counts).map(([status, count]) => `${count} ${status}`);
    process.stdout.write(table(['kind', 'openclaw', 'troupe', 'status', 'detail'], rows));
    process.stdout.write(`\n${sums.join(', ')}${dryRun ? '; nothing was written' : ''}\n`);
    if (!dryRun)
      process.stderr.write(
        'Jobs stay disabled until --enable-schedules: stop OpenClaw first, or both fire. ' +
          'Devices need new tokens: troupe devices rotate. WhatsApp accounts must be linked again.\n',
      );
  }
  const failed = (counts['damaged'] ?? 0) + (counts['refused'] ?? 0);
  return failed > 0 ? exitCodes.failure : exitCodes.ok;
}
