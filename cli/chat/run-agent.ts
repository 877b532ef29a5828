/**
 * One message to an agent, followed to its end whatever happens to the connection.
 *
 * Invariant: the message is applied once. It carries one idempotency key, and after a loss it is
 * asked again with the same key, which gives the same run.
 */
import { randomUUID } from 'node:crypto';
import { defined } from '../../protocols/defined.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { AgentFinal, AgentParams } from '../../protocols/gateway/index.ts';
import type { GatewayClient } from '../client/gateway-client.ts';
import { connectionFailure } from '../client/gateway-errors.ts';

export type RunAgentOptions = {
  /**
   * the whole text so far, each time there is more; a restarted answer may be shorter than before
   */
  readonly onText?: (text: string) => void;
  /** with `blockStreaming`: so many characters of the present text stand in whole blocks */
  readonly onBlock?: (characters: number) => void;
  /** a message that was sent into the conversation while the run goes on */
  readonly onMessage?: (text: string) => void;
  /** a tool was called */
  readonly onTool?: (name: string) => void;
  /** as soon as the gateway has taken the message: it will be answered, also after a restart */
  readonly onAccepted?: (run: { readonly runId: string; readonly sessionKey?: string }) => void;
  /** gives the wait up; the run goes on */
  readonly signal?: AbortSignal;
};

/** How a run ended. A failed one is a value too: it may have said something. */
export type RunOutcome = {
  readonly runId: string;
  readonly status: AgentFinal['status'] | 'aborted';
  /** the messages that were sent, and the answer */
  readonly text: string;
  /** messages that its tools sent into the conversation, in order */
  readonly messages?: readonly string[];
  /** `text` without them */
  readonly answer: string;
  readonly sessionKey?: string;
  readonly model?: string;
  readonly usage?: { readonly input?: number; readonly output?: number };
  readonly durationMs?: number;
  /** the message was taken into that run, whose text this is */
  readonly joined?: string;
  /** why it did not end `ok` */
  readonly error?: TroupeError;
};

export type RunRequest = Omit<AgentParams, 'idempotencyKey'> & {
  /** becomes the run's id; the same one again gives the first result. Default a new one */
  readonly runId?: string;
};

/** @throws TroupeError when the message was refused, or the connection is gone permanently */
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

/** Passes on what the run's events say. Returns the end of it. */
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

/** A failed run's result stands beside its error. */
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
