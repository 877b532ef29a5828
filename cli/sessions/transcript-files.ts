/**
 * The files of exported sessions, in one folder: `sessions.json` (session key → facts and file) and
 * one file of JSON lines per session, `<sessionId>.jsonl`, for topics of groups
 * `<sessionId>-topic-<threadId>.jsonl`. Both ends of a move use these names and checks.
 */
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Static, Type } from '@sinclair/typebox';
import { AnyKey } from '../../protocols/any-key.ts';
import { SessionFactsSchema } from '../../operations/sessions/move-session.ts';
import { ENTRY_TYPES, entrySchemaOf } from '../../operations/sessions/transcript-entry.ts';
import { checker, describeErrors } from '../../protocols/check.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { parseSessionKey } from '../../protocols/session-key.ts';
import type { SessionEntry } from '../../protocols/session.ts';

export const INDEX_FILE = 'sessions.json';
/** Longer than any entry that an import accepts. */
const LINE_CHARACTERS_MAX = 16 * 2 ** 20;
const LINE_BREAK = 10;

const ListedSchema = Type.Object({
  ...SessionFactsSchema.properties,
  file: Type.String({ pattern: '^[\\w%][\\w%.-]*\\.jsonl$' }),
  entries: Type.Integer({ minimum: 0 }),
});
export type ListedSession = Static<typeof ListedSchema>;

const checkIndex = checker(Type.Record(AnyKey, ListedSchema));
const entryCheckers = new Map(
  ENTRY_TYPES.map((type) => [type, checker(entrySchemaOf(type)!)] as const),
);

export function fileOf(key: string, sessionId: string): string {
  const parts = parseSessionKey(key);
  const topic = parts.type === 'topic' ? `-topic-${escaped(parts.threadId)}` : '';
  return `${escaped(sessionId)}${topic}.jsonl`;
}

/** Safe as a file name; two names never become one. */
const escaped = (text: string): string =>
  encodeURIComponent(text).replaceAll(/[!'()*~]|^\./g, (one) => {
    return `%${one.codePointAt(0)!.toString(16).toUpperCase()}`;
  });

/** @throws TroupeError NOT_FOUND, INVALID_ARGUMENT */
export async function readIndex(folder: string): Promise<ReadonlyMap<string, ListedSession>> {
  const path = join(folder, INDEX_FILE);
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw new TroupeError(
      'NOT_FOUND',
      `${path} cannot be read: name a folder that troupe sessions export wrote`,
      { cause },
    );
  });
  const checked = checkIndex(jsonOf(text, path));
  if (checked.ok) return new Map(Object.entries(checked.value));
  throw wrong(path, describeErrors(checked.errors.slice(0, 1)));
}

/**
 * The entries of a file with their line numbers, one after another.
 * @throws TroupeError INVALID_ARGUMENT names the file, the line and what is wrong with it
 */
export async function* entriesIn(path: string): AsyncGenerator<SessionEntry> {
  let number = 0;
  for await (const line of linesOf(path)) {
    number++;
    yield entryOf(line, `${path}:${number}`);
  }
}

function entryOf(line: string, place: string): SessionEntry {
  const value = jsonOf(line, place);
  const { type } = Object(value) as { type?: unknown };
  const check = entryCheckers.get(String(type));
  if (!check) throw wrong(place, `/type must be one of ${ENTRY_TYPES.join(', ')}`);
  const checked = check(value);
  if (checked.ok) return value as SessionEntry;
  throw wrong(place, describeErrors(checked.errors.slice(0, 1)));
}

function jsonOf(text: string, place: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw wrong(place, 'not JSON', cause);
  }
}

const wrong = (place: string, message: string, cause?: unknown): TroupeError =>
  new TroupeError(
    'INVALID_ARGUMENT',
    `${place}: ${message}: correct it, or export the session again; nothing was imported`,
    { cause },
  );

/** Lines end with a line feed and nothing else: a text may contain any other separator. */
async function* linesOf(path: string): AsyncGenerator<string> {
  let parts: Buffer[] = [];
  let length = 0;
  for await (const chunk of bytesOf(path)) {
    let start = 0;
    for (let end = chunk.indexOf(LINE_BREAK); end >= 0; end = chunk.indexOf(LINE_BREAK, start)) {
      yield Buffer.concat([...parts, chunk.subarray(start, end)]).toString('utf8');
      parts = [];
      length = 0;
      start = end + 1;
    }
    parts.push(chunk.subarray(start));
    length += chunk.length - start;
    if (length > LINE_CHARACTERS_MAX) throw wrong(path, 'a line is longer than any entry');
  }
  // An export that was interrupted may end in the middle of a line.
  if (length > 0) throw wrong(path, 'the last line has no end: the file is not complete');
}

async function* bytesOf(path: string): AsyncGenerator<Buffer> {
  try {
    yield* createReadStream(path) as AsyncIterable<Buffer>;
  } catch (cause) {
    throw wrong(path, `${INDEX_FILE} names this file, and it cannot be read`, cause);
  }
}
