/** Files of batches, as OpenAI and Gemini have them: JSON Lines, one text or answer each. */
import { setImmediate as turn } from 'node:timers/promises';
import type { BatchAnswer } from '../../memory/index.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { abortableBody } from '../../protocols/time-limit.ts';
import type { OpenConnection } from './connection.ts';
import { embedderFailure } from './embedding.ts';

/** Of one batch. By their documentations OpenAI accepts 50,000 and 200 MB, Gemini 2 GB. */
export const BATCH_TEXTS_MAX = 50_000;
const FILE_BYTES_MAX = 190_000_000;
/** A line has a vector of 4,096 numbers at most. */
const LINE_CHARACTERS_MAX = 1_048_576;
/** Lines that are made before other work continues. */
const LINES_AT_ONCE = 100;

export type BatchLines = { readonly keys: readonly string[]; readonly contents: File };

/** The first texts, as many as one file may have. @param lineOf without a line break */
export async function linesWithin(
  texts: ReadonlyMap<string, string>,
  lineOf: (key: string, text: string) => string,
): Promise<BatchLines> {
  const keys: string[] = [];
  const lines: string[] = [];
  let bytes = 0;
  for (const [key, text] of texts) {
    const line = `${lineOf(key, text)}\n`;
    bytes += Buffer.byteLength(line);
    if (bytes > FILE_BYTES_MAX || keys.length === BATCH_TEXTS_MAX) break;
    keys.push(key);
    lines.push(line);
    if (keys.length % LINES_AT_ONCE === 0) await turn();
  }
  return { keys, contents: new File(lines, 'texts.jsonl', { type: 'application/jsonl' }) };
}

/**
 * The answers of a downloaded file.
 * @param answerOf undefined: the line is no answer about a text
 * @throws TroupeError as an embedder; the reason of `signal`
 */
export async function* answersIn(
  response: Response,
  answerOf: (line: string) => BatchAnswer | undefined,
  { connection, signal }: { readonly connection: OpenConnection; readonly signal: AbortSignal },
): AsyncGenerator<BatchAnswer> {
  try {
    for await (const line of linesOf(abortableBody(response, signal))) {
      const answer = answerOf(line);
      if (answer) yield answer;
    }
  } catch (error) {
    signal.throwIfAborted();
    throw embedderFailure(connection, error);
  }
}

/** The file is absent already, or is removed now. @throws TroupeError of the request */
export const removedOrAbsent = (removed: Promise<unknown>): Promise<void> =>
  removed.then(
    () => {},
    (error: unknown) => {
      if (!(error instanceof TroupeError && error.code === 'NOT_FOUND')) throw error;
    },
  );

/** @throws TroupeError INTERNAL for a line that never ends; errors of the connection */
async function* linesOf({ body }: Response): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const bytes of body ?? []) {
    rest += decoder.decode(bytes, { stream: true });
    if (rest.length > LINE_CHARACTERS_MAX && !rest.includes('\n'))
      throw new TroupeError('INTERNAL', `a line has more than ${LINE_CHARACTERS_MAX} characters`);
    const lines = rest.split('\n');
    rest = lines.pop()!;
    yield* lines;
  }
  yield rest + decoder.decode();
}

/** The object of a line; empty if it is broken. */
export function objectIn(line: string): object {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}
