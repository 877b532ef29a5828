/**
 * Sends a message to a session and waits for the result of its run. `agent`, `agent.wait` and
 * `chat.send` share it.
 */
import { askOrThrow, type Clock } from '../../../../runtime/index.ts';
import type { SessionScope, TenantScope } from '../../tenant/tenant-scope.ts';
import type { OnMessage } from '../../sessions/message-hook.ts';
import type { RunBlocks } from '../../streams/run-blocks.ts';
import { address } from '../../../../protocols/address.ts';
import { defined } from '../../../../protocols/defined.ts';
import { TroupeError } from '../../../../protocols/errors.ts';
import { parseSessionKey } from '../../../../protocols/session-key.ts';
import type {
  QueueMode,
  RunAccepted,
  RunRow,
  SessionReceive,
  Verbosity,
} from '../../../../protocols/session.ts';
import { checkModelChoice, type ModelRules } from '../../../../protocols/models/model-choice.ts';
import { readCommand } from '../../../commands/parse.ts';
import { imagesOf } from '../../sessions/attachments.ts';
import type { ChatCommands, AcceptedCommand, CommandMessage } from '../../tenant/chat-commands.ts';
import { ACCEPT_TIMEOUT_MS, RUN_ID_CHARACTERS_MAX } from '../../limits.ts';
import { modelNow, rowOfSession } from '../../sessions/session-model.ts';
import type { LiveRuns, RunEnd } from '../../streams/live-runs.ts';
import { principalOf, type Request } from '../request.ts';

/** What sending a message to a session needs. */
export type AcceptContext = TenantScope & {
  readonly runs: Pick<LiveRuns, 'row'>;
  readonly onMessage?: OnMessage | undefined;
};

/** What waiting for the end of a run needs. */
export type WaitContext = {
  readonly runs: Pick<LiveRuns, 'wait'>;
  readonly commands: Pick<ChatCommands, 'end'>;
  readonly clock: Clock;
};

/** What validating the settings of a run needs, and subscribing to its events. */
export type RunSettingsContext = SessionScope & {
  readonly models: ModelRules;
  readonly runs: Pick<LiveRuns, 'show'>;
  readonly blocks: Pick<RunBlocks, 'byDefault' | 'subscribe'>;
};

/**
 * Sends the message to the session. Resolves when the session has durably accepted it. A repeat
 * with the same run id and message returns the first answer, also after a restart.
 * @param known the row of this run id, if any session has one
 * @throws TroupeError CONFLICT when another message has the run id; the refusal of the session
 */
export const accept = async (
  request: Request<AcceptContext>,
  sessionKey: string,
  message: Omit<SessionReceive, 'type'>,
  known: RunRow | undefined,
): Promise<RunAccepted> => {
  const { context, traceId } = request;
  const { runId } = message;
  checkRunId(runId);
  if (known && known.sessionKey !== sessionKey) {
    throw new TroupeError(
      'CONFLICT',
      'this idempotencyKey was used for a message to another session',
    );
  }
  const received = { ...channelOf(request), ...message };
  const text = await callMessageHook(context, sessionKey, received);
  return askOrThrow<RunAccepted>(
    context.system,
    address(context.tenant, 'session', sessionKey),
    { type: 'session.receive', ...received, text },
    {
      principal: principalOf(request),
      key: runId,
      timeoutMs: ACCEPT_TIMEOUT_MS,
      timedOut:
        'the message is stored, but its session has not answered yet: send it again with the same idempotencyKey',
      ...defined({ traceId }),
    },
  );
};

/** The channel of a message that names none, unless it is `webchat`. */
const channelOf = ({ connection }: Request): { readonly channel?: string } =>
  connection.client?.params.client.mode === 'cli' ? { channel: 'terminal' } : {};

/**
 * The text that the session receives.
 * @throws TroupeError FORBIDDEN when a hook refuses the message
 */
const callMessageHook = async (
  { onMessage }: AcceptContext,
  sessionKey: string,
  { runId, text, sender, channel = 'webchat', images = [] }: Omit<SessionReceive, 'type'>,
): Promise<string> => {
  if (!onMessage) return text;
  const parts = parseSessionKey(sessionKey);
  const agentId = 'agentId' in parts ? parts.agentId : '';
  const message = { text, channel, images, ...defined({ sender }) };
  const result = await onMessage(message, { agentId, sessionKey, runId });
  if (result?.refuse !== undefined) throw new TroupeError('FORBIDDEN', result.refuse);
  return result?.text ?? text;
};

const checkRunId = (runId: string): void => {
  if (/\p{Surrogate}/u.test(runId))
    throw new TroupeError('INVALID_ARGUMENT', '/idempotencyKey has a lone surrogate');
  if (runId.length <= RUN_ID_CHARACTERS_MAX) return;
  throw new TroupeError(
    'INVALID_ARGUMENT',
    `the idempotencyKey has ${runId.length} characters, at most ${RUN_ID_CHARACTERS_MAX} are allowed`,
  );
};

/**
 * The result of the run. `gone`: its record was deleted before this gateway read a result.
 * `given-up`: the connection ended, or the wait timed out. Giving up does not stop the run.
 */
export const endOf = (
  { context, connection }: Request<WaitContext>,
  { runId, sessionKey }: { readonly runId: string; readonly sessionKey?: string },
  timeoutMs?: number,
): Promise<RunEnd | 'gone' | 'given-up'> =>
  new Promise((resolve) => {
    const command = context.commands.end(runId);
    if (command !== undefined) return void command.then(resolve);
    // The client may have disconnected while the session accepted its message.
    if (!connection.open) return resolve('given-up');
    const settle = (outcome: RunEnd | 'gone' | 'given-up') => {
      cancelTimer?.();
      stopWaiting?.();
      endLease();
      resolve(outcome);
    };
    let cancelTimer: (() => void) | undefined;
    let stopWaiting: (() => void) | undefined;
    const endLease = connection.lease(() => settle('given-up'));
    if (timeoutMs !== undefined)
      cancelTimer = context.clock.after(timeoutMs, () => settle('given-up'));
    stopWaiting = context.runs.wait(runId, (end) => settle(end ?? 'gone'), sessionKey);
  });

/** What `agent` and `chat.send` may set for one run. */
type RunSettings = {
  readonly attachments?: readonly unknown[];
  readonly verbose?: boolean | string;
  readonly reasoning?: boolean;
  readonly thinking?: string;
  readonly model?: string;
  readonly queueMode?: QueueMode;
  readonly blockStreaming?: 'on' | 'off';
};

type NewRun = {
  readonly runId: string;
  readonly sessionKey: string;
  /** the row of the run id, if the request is a repeat */
  readonly known: RunRow | undefined;
};

/**
 * Validates the settings, subscribes the connection to the events that they request, and returns
 * the settings as fields of the message.
 * @throws TroupeError INVALID_ARGUMENT
 */
export const applyRunSettings = (
  { context, connection }: Request<RunSettingsContext>,
  { runId, sessionKey, known }: NewRun,
  settings: RunSettings,
) => {
  // A repeated request receives the first answer, even if the model catalog has changed since.
  if (known === undefined && (settings.model || settings.thinking))
    checkModelChoice(context.models, settings, modelNow(context, sessionKey));
  const images = imagesOf(settings.attachments);
  const verbose = verbosityOf(settings.verbose);
  const { reasoning, thinking, model, queueMode } = settings;
  const { blockStreaming = context.blocks.byDefault ? 'on' : 'off' } = settings;
  if (blockStreaming === 'on') {
    const row = rowOfSession(context, sessionKey);
    context.blocks.subscribe(runId, connection, {
      reasoning: reasoning ?? row?.reasoning ?? false,
    });
  }
  if (verbose !== undefined) context.runs.show(runId, verbose);
  return {
    ...(images.length === 0 ? {} : { images }),
    ...defined({ verbose, reasoning }),
    ...(thinking ? { thinking } : {}),
    ...(model ? { model } : {}),
    ...defined({ queue: queueMode }),
  };
};

const VERBOSITIES = ['off', 'on', 'full'] as const;

const verbosityOf = (verbose: boolean | string | undefined): Verbosity | undefined => {
  if (verbose === undefined || verbose === '') return undefined;
  if (typeof verbose === 'boolean') return verbose ? 'on' : 'off';
  const found = VERBOSITIES.find((each) => each === verbose);
  if (found !== undefined) return found;
  throw new TroupeError('INVALID_ARGUMENT', `/verbose is one of ${VERBOSITIES.join(', ')}`);
};

/**
 * Executes the message if it is a command. Returns undefined for a message to the model.
 * @throws TroupeError INVALID_ARGUMENT for a command with attachments
 */
export const commandOf = (
  request: Request<{ readonly commands: Pick<ChatCommands, 'accept'> }>,
  written: Omit<CommandMessage, 'by'>,
  attachments: readonly unknown[] = [],
): AcceptedCommand | undefined => {
  checkRunId(written.runId);
  if (attachments.length > 0 && readCommand(written.text).kind !== 'text') {
    throw new TroupeError('INVALID_ARGUMENT', '/attachments: a command cannot have attachments');
  }
  const { context, connection } = request;
  return context.commands.accept(connection, { by: principalOf(request), ...written });
};

/** A message without text needs an image. @throws TroupeError INVALID_ARGUMENT */
export const refuseEmpty = (message: string, attachments: readonly unknown[] = []): void => {
  if (message.trim() === '' && attachments.length === 0)
    throw new TroupeError('INVALID_ARGUMENT', '/message must not be empty');
};
