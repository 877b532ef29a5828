/**
 * Translates the configuration of an agent to the settings of its runs. A key with its default
 * value is left out, because settings are sent with every run.
 */
import {
  type AgentSettings,
  type ExecPolicy,
  QUEUE_DEFAULTS,
  type QueueSettings,
  type SandboxPolicy,
  type SessionExpiry,
  type TenantCeilings,
  type ToolPolicy,
} from '../protocols/agent.ts';
import type { ResolvedAgent } from '../runtime/config/index.ts';

/** Defaults of protocols/agent.ts; equal values are left out. */
const EXEC = { ask: 'on-miss', askForMs: 1_800_000 } as const;

export function settingsOf(agent: ResolvedAgent): AgentSettings {
  const { id, timeoutSeconds, runsMax, tokensPerDay, purpose, model, thinkingLevel } = agent;
  return {
    agentId: id,
    timeoutMs: timeoutSeconds * 1_000,
    runsMax,
    tokensPerDay,
    sandbox: sandboxOf(agent),
    ...given({
      model,
      purpose: purpose || undefined,
      thinking: thinkingLevel,
      fallbacks: listed(agent.fallbacks),
      limits: filled(agent.limits),
      queue: queueOf(agent),
      expiry: expiryOf(agent),
      tools: toolsOf(agent),
      tenant: filled<TenantCeilings>(unlike(agent.tenant, NO_CEILINGS)),
      ...unlike(
        {
          costPerDayUsd: agent.costPerDayUsd,
          verbose: agent.verbose,
          reserveTokens: agent.reserveTokens,
        },
        { costPerDayUsd: 0, verbose: 'off', reserveTokens: 16_384 },
      ),
    }),
  };
}

/** Always set completely, so that an absent value never means no sandbox. */
const sandboxOf = ({ sandbox }: ResolvedAgent): SandboxPolicy => ({
  mode: sandbox.mode,
  workspaceAccess: sandbox.workspaceAccess,
  allow: sandbox.allowlist,
  deny: sandbox.denylist,
  ...unlike({ mainKey: sandbox.mainKey }, { mainKey: 'main' }),
});

const NO_CEILINGS = { runsMax: 0, tokensPerDay: 0, costPerDayUsd: 0 };

const queueOf = ({ queue: { byChannel, ...rest } }: ResolvedAgent): QueueSettings | undefined =>
  filled({ ...unlike(rest, QUEUE_DEFAULTS), ...given({ byChannel: filled(byChannel) }) });

function expiryOf({ reset }: ResolvedAgent): SessionExpiry | undefined {
  const { atHour, timeZone, idleMinutes } = reset ?? {};
  const idleMs = idleMinutes === undefined ? undefined : idleMinutes * 60_000;
  const zone = atHour === undefined || timeZone === 'UTC' ? undefined : timeZone;
  return filled<SessionExpiry>(given({ atHour, timeZone: zone, idleMs }));
}

function toolsOf({ tools }: ResolvedAgent): ToolPolicy | undefined {
  const { ask, allow, askForMinutes } = tools.exec;
  const rest = unlike({ ask, askForMs: askForMinutes * 60_000 }, EXEC);
  const exec = filled<ExecPolicy>({ ...rest, ...given({ allow: listed(allow) }) });
  return filled<ToolPolicy>(given({ allow: listed(tools.allow), deny: listed(tools.deny), exec }));
}

const listed = (list: readonly string[]) => (list.length > 0 ? list : undefined);

/** undefined for an object without set keys. */
const filled = <T extends object>(value: T): T | undefined =>
  Object.keys(value).length > 0 ? value : undefined;

/** Without the keys that were not set. */
const given = <T extends object>(value: T): { [Key in keyof T]?: NonNullable<T[Key]> } =>
  Object.fromEntries(Object.entries(value).filter(([, part]) => part !== undefined)) as {
    [Key in keyof T]?: NonNullable<T[Key]>;
  };

/** Without the keys whose values equal those of `standard`. */
const unlike = <T extends object>(value: T, standard: Partial<T>): Partial<T> =>
  Object.fromEntries(
    Object.entries(value).filter(([key, part]) => standard[key as keyof T] !== part),
  ) as Partial<T>;
