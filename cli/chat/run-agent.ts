/**
 * Sends one message to an agent and follows its run to the end, across connection losses.
 *
 * Invariant: the message is processed once. It has one idempotency key. After a loss the request is
 * sent again with the same key, which returns the same run.
 */
import { randomUUID } from 'node:crypto';
import { defined } from '../../protocols/defined.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { AgentFinal, AgentParams } from '../../protocols/gateway/index.ts';
import type { GatewayClient } from '../../client/gateway-client.ts';
import { connectionFailure } from '../../client/gateway-errors.ts';

export type RunAgentOptions = {
  /** called with the whole text so far; a restarted answer may be shorter than before */
  readonly onText?: (text: string) => void;
  /** with `blockStreaming`: how many characters of the present text are in complete blocks */
  readonly onBlock?: (characters: number) => void;
  /** called with a message that the run sends into the conversation before it ends */
  readonly onMessage?: (text: string) => void;
  /** called when the run calls a tool */
  readonly onTool?: (name: string) => void;
  /** called when the gateway has accepted the message; it will be answered, also after a restart */
  readonly onAccepted?: (run: { readonly runId: string; readonly sessionKey?: string }) => void;
  /** stops waiting; the run continues */
  readonly signal?: AbortSignal;
};

/** How a run ended. A failed run is a value too, because it may have text. */
export type RunOutcome = {
  readonly runId: string;
  readonly status: AgentFinal['status'] | 'aborted';
  /** the messages that the run sent, then the answer */
  readonly text: string;
  /** messages that the run's tools sent into the conversation, in order */
  readonly messages?: readonly string[];
  /** `text` without `messages` */
  readonly answer: string;
  readonly sessionKey?: string;
  readonly model?: string;
  readonly usage?: { readonly input?: number; readonly output?: number };
  readonly durationMs?: number;
  /** the run that the message was added to; `text` is that run's */
  readonly joined?: string;
  /** the reason if the status is not `ok` */
  readonly error?: TroupeError;
};

export type RunRequest = Omit<AgentParams, 'idempotencyKey'> & {
  /** the run's id; a repeat returns the first result. Default: a new one */
  readonly runId?: string;
};

/** @throws TroupeError when the message was refused, or the connection is permanently closed */
export async function runAgent(
  client: GatewayClient,
  { runId = randomUUID(), ...message }: RunRequest,
  options: RunAgentOptions = {},
): Promise<RunOutcome> {
  const stop = follow(client, runId, options);
  try {
    const final = await askUntilAnswered(client, { ...message, idempotencyKey: runId }, options);
    return outcomeOf(final);
  } catch (error) {
    const final = finalOf(error);
    if (!final) throw error;
    return { ...outcomeOf(final), error: error as TroupeError };
  } finally {
    stop();
  }
}

async function askUntilAnswered(
  client: GatewayClient,
  params: AgentParams,
  { signal, onAccepted }: RunAgentOptions,
): Promise<AgentFinal> {
  for (;;) {
    await client.ready(signal);
    try {
      const answer = await client.request('agent', params, {
        expectFinal: true,
        ...defined({ signal }),
        onAccepted: ({ runId, sessionKey }) => onAccepted?.({ runId, ...defined({ sessionKey }) }),
      });
      return answer as AgentFinal;
    } catch (error) {
      const lost = connectionFailure(error) !== undefined && client.state.kind !== 'closed';
      if (!lost) throw error;
    }
  }
}

/** Calls the callbacks for the run's events. Returns a function that unsubscribes. */
function follow(
  client: GatewayClient,
  runId: string,
  { onText, onBlock, onMessage, onTool }: RunAgentOptions,
): () => void {
  return client.on('agent', (event) => {
    if (event.runId !== runId) return;
    const { text, phase, name, to, reasoning } = event.data;
    if (event.stream === 'assistant' && typeof text === 'string') onText?.(text);
    if (event.stream === 'message' && typeof text === 'string') onMessage?.(text);
    if (event.stream === 'block' && typeof to === 'number' && !reasoning) onBlock?.(to);
    if (event.stream === 'tool' && phase === 'start' && typeof name === 'string') onTool?.(name);
  });
}

/** The payload of a failed run is sent with its error. */
function finalOf(error: unknown): AgentFinal | undefined {
  if (!(error instanceof TroupeError)) return undefined;
  const payload = error.details?.payload as AgentFinal | undefined;
  return payload?.runId === undefined ? undefined : payload;
}

function outcomeOf({ runId, status, sessionKey, result }: AgentFinal): RunOutcome {
  const meta = result?.meta;
  const { model, provider, usage } = meta?.agentMeta ?? {};
  const texts = (result?.payloads ?? []).map(({ text = '' }) => text);
  const messages = texts.slice(0, meta?.messages ?? 0);
  return {
    runId,
    status: meta?.aborted ? 'aborted' : status,
    text: texts.join('\n\n'),
    answer: texts.slice(messages.length).join('\n\n'),
    ...(messages.length > 0 && { messages }),
    ...defined({ sessionKey }),
    ...(model !== undefined && { model: provider ? `${provider}/${model}` : model }),
    ...defined({ usage }),
    ...(meta?.joined !== undefined && { joined: meta.joined }),
    ...(meta && { durationMs: meta.durationMs }),
  };
}
