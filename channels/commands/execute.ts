/**
 * Executes a user's command: it becomes a message for the session, and the user receives a reply.
 * All channels use it.
 *
 * Boundary: it reaches the session by `System.ask` and reads committed rows. The channel decides
 * which users may send commands.
 *
 * Invariants: a command that changes something uses its idempotency key, so a repeat changes
 * nothing and receives the same reply, also after a restart. A question about a session that does
 * not exist yet does not create it.
 */
import { address } from '../../protocols/address.ts';
import { defined } from '../../protocols/defined.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type {
  CompactionDone,
  RunRow,
  SessionCompact,
  SessionReset,
  SessionRow,
  Usage,
} from '../../protocols/session.ts';
import type { SessionSet } from '../../protocols/session-settings.ts';
import { askOrThrow, type Principal, type System } from '../../runtime/index.ts';
import { modelChoiceProblem, type ModelRules } from '../../protocols/models/model-choice.ts';
import { type Command, helpText } from './parse.ts';

export type CommandContext = {
  readonly system: Pick<System, 'ask' | 'index'>;
  readonly tenant: string;
  readonly principal: Principal;
  readonly sessionKey: string;
  readonly agentId: string;
  /** the agent's model, `provider/name`; for /status */
  readonly model?: string;
  readonly models: ModelRules;
  /** idempotency key of this command */
  readonly key: string;
};

/** How long a session has to answer; a compaction calls a model. */
const ANSWER_MS = 30_000;
const COMPACT_MS = 300_000;

/** The settings of a session, in the form of the reply to `session.set`. */
type Settings = { readonly [Name in Exclude<keyof SessionSet, 'type'>]?: Value };
type Value = string | boolean | null;

/**
 * The text of the reply. @throws TroupeError the refusal of the session; DEADLINE_EXCEEDED when it
 * did not answer
 */
export const executeCommand = async (place: CommandContext, command: Command): Promise<string> => {
  const row = place.system.index.get<SessionRow>('sessions', place.tenant, place.sessionKey);
  switch (command.name) {
    case 'help':
      return helpText();
    case 'status':
      return statusText(place, row, row && (await settingsOf(place)));
    case 'usage':
      return usageText(place, row);
    case 'new':
    case 'reset':
      if (row === undefined) return 'This conversation is already new.';
      await ask<{ sessionId: string }>(place, { type: 'session.reset', reason: command.name });
      return 'Started a new conversation. The previous one is kept, but the model no longer sees it.';
    case 'stop': {
      if (row === undefined) return 'Nothing was running.';
      const { aborted } = await ask<{ aborted: string[] }>(place, { type: 'session.abort' });
      if (aborted.length === 0) return 'Nothing was running.';
      return aborted.length === 1 ? 'Stopped.' : `Stopped ${aborted.length} messages.`;
    }
    case 'compact':
      return row === undefined ? NOTHING_TO_COMPACT : compact(place, command.instructions);
    default:
      return setting(place, row, command);
  }
};

const NOTHING_TO_COMPACT = 'There is nothing to compact.';

type SettingCommand = Extract<Command, { readonly value: unknown }>;

const FIELDS = {
  queue: 'queue',
  model: 'model',
  think: 'thinking',
  verbose: 'verbose',
  reasoning: 'reasoning',
} as const satisfies Record<SettingCommand['name'], keyof SessionSet>;

const setting = async (
  place: CommandContext,
  row: SessionRow | undefined,
  { name, value }: SettingCommand,
): Promise<string> => {
  const field = FIELDS[name];
  if (value === undefined) {
    const now = row === undefined ? {} : await settingsOf(place);
    return `/${name} is ${shown(now[field])}.`;
  }
  if (name === 'model' || name === 'think') {
    const modelNow = row?.ownModel ?? place.model ?? row?.model ?? '';
    const paths = { model: '/model', thinking: '/think' };
    const problem = modelChoiceProblem(place.models, { [field]: value }, modelNow, paths);
    if (problem) return `${problem.message}. Nothing was changed.`;
  }
  const now = await ask<Settings | undefined>(place, { type: 'session.set', [field]: value });
  return `/${name} is now ${shown((now ?? {})[field] ?? value)}.`;
};

const shown = (value: Value | undefined): string => {
  if (value === undefined || value === null) return 'the setting of the agent';
  return typeof value === 'boolean' ? (value ? 'on' : 'off') : value;
};

const compact = async (place: CommandContext, instructions?: string): Promise<string> => {
  const message: SessionCompact = {
    type: 'session.compact',
    ...defined({ instructions }),
  };
  const done = await ask<CompactionDone>(place, message, COMPACT_MS);
  if (!done.compacted) return NOTHING_TO_COMPACT;
  return `Compacted from about ${done.tokensBefore} to ${done.tokensAfter} tokens.`;
};

type CommandMessage = SessionReset | SessionCompact | SessionSet | { type: 'session.abort' };

const ask = async <Result>(
  place: CommandContext,
  message: CommandMessage,
  timeoutMs = ANSWER_MS,
): Promise<Result> => {
  const { system, tenant, sessionKey, principal, key } = place;
  const to = address(tenant, 'session', sessionKey);
  return askOrThrow<Result>(system, to, message, {
    principal,
    key: `command:${key}`,
    timeoutMs,
    timedOut: 'the session stored the command, but has not answered yet: read /status later',
  });
};

/** Shows the current settings without a change. */
const settingsOf = async ({ system, tenant, sessionKey, principal }: CommandContext) => {
  const to = address(tenant, 'session', sessionKey);
  const answer = await system.ask(to, { type: 'session.set' }, { principal, timeoutMs: ANSWER_MS });
  if (answer.kind === 'refused') throw TroupeError.from(answer.error);
  return answer.kind === 'answered' ? ((answer.result ?? {}) as Settings) : {};
};

const statusText = (
  { sessionKey, agentId, model }: CommandContext,
  row: SessionRow | undefined,
  settings: Settings = {},
): string => {
  const waiting = row?.pending ?? 0;
  return [
    `session ${sessionKey}${row === undefined ? ' (no messages yet)' : ''}`,
    `agent ${agentId}`,
    `model ${shown(settings.model ?? row?.model ?? model)}`,
    `state ${row?.status ?? 'idle'}${waiting > 0 ? `, ${waiting} waiting` : ''}`,
    `queue ${shown(settings.queue)}`,
    `thinking ${shown(settings.thinking)}`,
    `verbose ${shown(settings.verbose)}`,
    `reasoning ${shown(settings.reasoning)}`,
  ].join('\n');
};

const usageText = ({ system, tenant }: CommandContext, row: SessionRow | undefined): string => {
  if (row === undefined) return 'There are no messages yet.';
  const lines = [`session: ${tokens(row.usage)}`];
  const last = row.runId && system.index.get<RunRow>('runs', tenant, row.runId);
  if (last && last.usage) {
    lines.push(`last run: ${tokens(last.usage)}${last.model ? `, ${last.model}` : ''}`);
  }
  return lines.join('\n');
};

const tokens = ({ inputTokens, outputTokens, costUsd }: Usage): string =>
  `${inputTokens} tokens in, ${outputTokens} out` +
  (costUsd === undefined ? '' : `, ${costUsd.toFixed(4)} USD`);
