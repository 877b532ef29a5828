/**
 * `troupe config route`: which agent and session a message of a channel would go to, by which rule,
 * and whether its account would admit it. It reads the configuration and calls the hooks; it knows
 * no senders that were approved by a pairing code.
 */
import type { Hooks } from '../../agent/hooks/hooks.ts';
import {
  accountKey,
  type AccountRef,
  type Admission,
  type ChatRef,
  type InboundMessage,
  type Route,
} from '../../protocols/channel.ts';
import { defined } from '../../protocols/defined.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { Config } from '../../runtime/config/index.ts';
import { exitCodes } from '../exit.ts';
import { keepRunning } from '../keep-running.ts';
import { type CommonOptions, loadFrom } from '../options.ts';
import { printJson } from '../output.ts';

export type ConfigRouteOptions = CommonOptions & {
  readonly sender: string;
  readonly username?: string;
  readonly group?: string;
  readonly guild?: string;
  readonly thread?: string;
  readonly mention?: boolean;
  readonly text?: string;
};

type Shown = Route & {
  readonly tenant: string;
  /** absent: the account is not configured */
  readonly admission?: Admission;
};

/** @throws TroupeError INVALID_ARGUMENT for an account that is not `<channel>:<account>` */
export async function route(name: string, options: ConfigRouteOptions): Promise<number> {
  const of = accountOf(name);
  const { config } = await loadFrom(options);
  const shown = await keepRunning(shownOf(config, of, messageOf(options)));
  if (options.json) printJson(shown);
  else process.stdout.write(linesOf(shown));
  return exitCodes.ok;
}

function accountOf(name: string): AccountRef {
  const [channel, account, ...rest] = name.split(':');
  if (channel && account && rest.length === 0) return { channel, account };
  throw new TroupeError('INVALID_ARGUMENT', `${name}: write <channel>:<account>, as telegram:main`);
}

function messageOf(options: ConfigRouteOptions): InboundMessage {
  const { sender: id, username, group, guild, thread, mention = false, text = '' } = options;
  const place = defined({ guild, thread });
  const chat: ChatRef =
    group === undefined ? { kind: 'dm', id, ...place } : { kind: 'group', id: group, ...place };
  const sender = { id, ...defined({ username }) };
  const about = { key: 'test', kind: 'message', messageId: 'test' } as const;
  return { ...about, chat, sender, text, mentionsAccount: mention };
}

async function shownOf(
  installation: Config,
  of: AccountRef,
  message: InboundMessage,
): Promise<Shown> {
  const [{ admit, resolveAgents, routeByTable, tenantConfig }, { tenancyOf }, { routeByHook }] =
    await Promise.all([
      import('../../runtime/config/index.ts'),
      import('../../channels/tenancy.ts'),
      import('../../agent/hooks/route-message.ts'),
    ]);
  const tenant = tenancyOf(installation).ofChannelAccount(accountKey(of));
  const config = tenantConfig(installation, tenant);
  const { requireMention, ...table } = routeByTable(config, of, message);
  const policy = policyOf(config, of);
  const isAgent = async (id: string) => resolveAgents(config).some((agent) => agent.id === id);
  const routed = { ...of, tenant, message, route: table };
  return {
    ...(await routeByHook(await hooksOf(config), routed, isAgent)),
    tenant,
    ...(policy && { admission: admit(message, policy, { isApproved: false, requireMention }) }),
  };
}

/** Undefined for an account that is not configured. */
function policyOf({ channels }: Config, { channel, account }: AccountRef) {
  const accounts = new Map(Object.entries(channels)).get(channel)?.accounts ?? {};
  return new Map(Object.entries(accounts)).get(account);
}

async function hooksOf(config: Config): Promise<Hooks> {
  const [{ createHooks }, { hooksFolder }, { loadHooks }] = await Promise.all([
    import('../../agent/hooks/create-hooks.ts'),
    import('../../agent/hooks/open-hooks.ts'),
    import('../../agent/hooks/load.ts'),
  ]);
  const { disabled } = config.hooks;
  const { loaded, faults } = await loadHooks({ folder: hooksFolder(config), disabled });
  for (const { file, why } of faults) warn(`${file} is left out: ${why}`);
  const modules = loaded.map(({ module }) => module);
  return createHooks({
    modules,
    report: ({ module, hook, why }) => warn(`the hook ${hook} of ${module}: ${why}`),
  });
}

const warn = (line: string): void => void process.stderr.write(`${line}\n`);

function linesOf({ agentId, sessionKey, rule, tenant, admission }: Shown): string {
  const verdict = admission?.pass === false ? `refused: ${admission.rule}` : 'admitted';
  const lines = [
    ['agent', agentId],
    ['session', sessionKey],
    ['rule', rule],
    ['tenant', tenant],
    ['account', admission ? verdict : 'not configured'],
  ];
  return lines.map(([label, value]) => `${`${label}:`.padEnd(9)}${value}\n`).join('');
}
