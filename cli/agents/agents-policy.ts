/**
 * `troupe agents policy`: which agents may find, read, message and start which others, and which
 * setting denies it. It reads the configuration only and connects to no gateway.
 *
 * Limits that depend on a run are not checked here: hops, remaining messages, budgets.
 */
import type { Access, Verdict } from '../../agent/policy/talk.ts';
import type { Config } from '../../runtime/config/index.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { exitCodes } from '../exit.ts';
import { loadForTenant, type TenantOptions } from '../options.ts';
import { table } from '../../operations/text.ts';
import { printJson } from '../output.ts';

export type AgentsPolicyOptions = TenantOptions & {
  /** last part of the acting session's key; default: the main session */
  readonly session?: string;
};

/** One acting session and its access to the sessions of each agent. */
export type PolicyOf = {
  readonly agentId: string;
  readonly sessionKey: string;
  readonly sandboxed: boolean;
  /** `*`: an id that is not configured, which can only be started */
  readonly to: readonly ({ readonly agentId: string } & Partial<Record<Access, Verdict>>)[];
};

/** The tool of each kind of access. Tool lists are checked before the policy. */
const TOOLS: readonly (readonly [Access, tool: string])[] = [
  ['list', 'sessions_list'],
  ['history', 'sessions_history'],
  ['send', 'sessions_send'],
  ['spawn', 'sessions_spawn'],
];

export async function agentsPolicy(
  from: string | undefined,
  to: string | undefined,
  options: AgentsPolicyOptions,
): Promise<number> {
  const { config } = await loadForTenant(options);
  const policies = await policiesOf(config, { from, to, session: options.session });
  if (options.json) printJson({ policies });
  else process.stdout.write(policies.map(textOf).join('\n'));
  return exitCodes.ok;
}

/**
 * For one or all acting agents, towards one or all agents.
 * @throws TroupeError NOT_FOUND for an unknown id
 */
export async function policiesOf(
  config: Config,
  {
    from,
    to,
    session,
  }: { readonly from?: string; readonly to?: string; readonly session?: string },
): Promise<readonly PolicyOf[]> {
  const [{ resolveAgents }, { settingsOf }, { talkRulesOf }, { confinementOf }, lists, policy] =
    await Promise.all([
      import('../../runtime/config/index.ts'),
      import('../../installation/agent-settings.ts'),
      import('../../installation/talk-rules.ts'),
      import('../../agent/policy/confinement.ts'),
      import('../../agent/policy/lists.ts'),
      import('../../agent/policy/talk.ts'),
    ]);
  const rules = talkRulesOf(config);
  const agents = resolveAgents(config).map(settingsOf);
  const ids = agents.map(({ agentId }) => agentId);
  for (const id of [from, to]) if (id !== undefined) known(id, ids);
  const acting = agents.filter(({ agentId }) => from === undefined || agentId === from);
  return acting.map((settings) => {
    const { agentId } = settings;
    const sessionKey = `agent:${agentId}:${session ?? rules.mainKey}`;
    const { sandboxed } = confinementOf(settings, sessionKey);
    const who = { agentId, sessionKey, sandboxed };
    const verdict = (access: Access, tool: string, other: string): Verdict => {
      const listed = lists.refusalOf({ name: tool, groups: ['sessions'] }, settings, sessionKey);
      if (listed) return { allowed: false, rule: `the tool ${tool}`, why: listed };
      if (access === 'spawn' && rules.spawn.limits.depthMax < 2) return NO_DEPTH;
      const judged = policy.judge(rules, who, { agentId: other }, access);
      return judged.allowed || other !== ANY ? judged : { ...judged, why: notAny(agentId) };
    };
    const towards = (other: string) => ({
      agentId: other,
      ...Object.fromEntries(
        TOOLS.filter(([access]) => other !== ANY || access === 'spawn').map(([access, tool]) => [
          access,
          verdict(access, tool, other),
        ]),
      ),
    });
    return { ...who, to: (to === undefined ? [...ids, ANY] : [to]).map(towards) };
  });
}

/** Represents any id that is not configured. */
const ANY = '*';
const notAny = (agentId: string): string =>
  `agent '${agentId}' may start only the agents of this list; '*' allows all`;
const NO_DEPTH: Verdict = {
  allowed: false,
  rule: 'agents.spawnDefaults.maxSpawnDepth',
  why: 'it is 1, so no agent can be started; set it to 2 or more',
};

function known(id: string, ids: readonly string[]): void {
  if (!ids.includes(id))
    throw new TroupeError(
      'NOT_FOUND',
      `no agent '${id}' is configured; available: ${ids.join(', ')}`,
    );
}

function textOf({ agentId, sessionKey, sandboxed, to }: PolicyOf): string {
  const notes = new Map<string, number>();
  const cell = (verdict: Verdict | undefined, yes: string): string => {
    if (!verdict) return '';
    if (verdict.allowed) return yes;
    const note = `${verdict.rule}: ${verdict.why}`;
    if (!notes.has(note)) notes.set(note, notes.size + 1);
    return `no (${notes.get(note)})`;
  };
  const rows = to.map(({ agentId: other, list, history, send, spawn }) => [
    nameOf(other, agentId),
    cell(list, 'yes'),
    cell(history, history?.allowed ? history.level : ''),
    cell(send, 'yes'),
    cell(spawn, 'yes'),
  ]);
  const head = ['other agent', 'list', 'history', 'send', 'spawn'];
  const title = `${sessionKey}${sandboxed ? ', sandboxed' : ''}\n`;
  const reasons = [...notes].map(([note, number]) => `(${number}) ${note}\n`);
  return `${title}${table(head, rows)}${reasons.join('')}`;
}

function nameOf(other: string, own: string): string {
  if (other === ANY) return 'any other id';
  return other === own ? `${other}, itself` : other;
}
