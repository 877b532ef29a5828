/** `troupe agent`: sends one message and streams the answer to stdout, or prints it as JSON. */
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { imageTypeOf } from '../../protocols/content.ts';
import { defined } from '../../protocols/defined.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { reportApprovals } from '../agents/agent-approvals.ts';
import { AnswerPrinter } from './answer-printer.ts';
import { exitCodes, reportFailure } from '../exit.ts';
import { type ClientOptions, withGateway } from '../options.ts';
import { type RunAgentOptions, type RunOutcome, type RunRequest, runAgent } from './run-agent.ts';

export type AgentOptions = ClientOptions & {
  readonly message: string;
  readonly session?: string;
  readonly agent?: string;
  readonly model?: string;
  readonly thinking?: string;
  /** seconds */
  readonly timeout?: number;
  readonly runId?: string;
  /** how tool calls are shown in the reply: off, on or full; true means on */
  readonly verbose?: string | boolean;
  /** image files to attach to the message */
  readonly image?: readonly string[];
};

/**
 * Returns the exit code. @throws TroupeError when the message was not accepted, or its run cannot
 * be followed
 */
export async function agent(options: AgentOptions): Promise<number> {
  const attachments = await Promise.all((options.image ?? []).map(attachmentOf));
  const request = requestOf(options, await messageOf(options.message), attachments);
  const outcome = await withGateway(options, async (client) => {
    const reportFor = reportApprovals(client, (text) => process.stderr.write(`troupe: ${text}\n`));
    const onAccepted: RunAgentOptions['onAccepted'] = ({ sessionKey }) => {
      if (sessionKey !== undefined) reportFor(sessionKey);
    };
    if (options.json) return runAgent(client, request, { onAccepted });
    const printer = new AnswerPrinter((text) => process.stdout.write(text));
    // The lines of tool calls precede the answer, so such a reply is printed when it is complete.
    const isStreamed = [undefined, false, 'off'].includes(options.verbose);
    const onText = (text: string) => printer.show(text);
    const onMessage = (text: string) => printer.message(text);
    const streamed = { ...(isStreamed && { onText }), onMessage, onAccepted };
    const run = await runAgent(client, request, streamed);
    // The text of a failed run ends with its error, which `report` writes to stderr.
    printer.finish(run.error ? '' : run.answer, run.messages);
    return run;
  });
  return report(outcome, options);
}

/** `-` reads the message from stdin. */
async function messageOf(message: string): Promise<string> {
  if (message !== '-') return message;
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

/** @throws TroupeError INVALID_ARGUMENT when the file cannot be read, or is not an image */
async function attachmentOf(path: string) {
  const wrong = (why: string, cause?: unknown) =>
    new TroupeError('INVALID_ARGUMENT', `--image ${path}: ${why}`, { cause });
  const bytes = await readFile(path).catch((cause: Error) => {
    throw wrong(cause.message, cause);
  });
  if (imageTypeOf(bytes) === undefined)
    throw wrong('it is not an image; send PNG, JPEG, GIF or WebP');
  return { type: 'image', fileName: basename(path), content: bytes.toString('base64') };
}

function requestOf(
  options: AgentOptions,
  message: string,
  attachments: readonly object[],
): RunRequest {
  const { session, agent: agentId, model, thinking, verbose, timeout, runId } = options;
  return {
    message,
    ...defined({ sessionKey: session, agentId, model, thinking, verbose, timeout, runId }),
    ...(attachments.length > 0 && { attachments: [...attachments] }),
  };
}

function report(outcome: RunOutcome, { json = false }: AgentOptions): number {
  const { error, answer: _, messages: __, ...result } = outcome;
  if (json) {
    const shown = error ? { ...result, error: shownError(error) } : result;
    process.stdout.write(`${JSON.stringify(shown, null, 2)}\n`);
  } else if (error) {
    reportFailure(error);
  }
  if (outcome.status === 'ok') return exitCodes.ok;
  return outcome.status === 'timeout' ? exitCodes.timeout : exitCodes.failure;
}

/** Without `result`, which is printed separately. */
function shownError(error: TroupeError) {
  const { payload: _payload, ...details } = error.details ?? {};
  return { ...error.toData(), details };
}
