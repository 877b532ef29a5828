/**
 * Subjects: every name of a message stream, formatted and parsed in one place.
 *
 *   mailbox       mbx.{env}.{shard}.{lane}          lane: data or control; internal
 *   journal       jrn.{env}.{shard}                 internal
 *   transcript    trn.{env}.{tenant}.{type}.{key}   internal
 *   history       hst.{env}.{shard}                 internal; segments of a shard
 *                 hst.{env}.{tenant}.{type}.{key}   internal; turns of one actor, with bodies
 *   cell          cell.{env}                        internal
 *   dead letters  a2a.{domain}.{env}.dlq
 *   entry point   a2a.{domain}.{env}.in.{tenant}    requests
 *                 a2a.{domain}.{env}.out.{tenant}   answers and events
 *
 * Every variable part is one escaped token: letters, digits, `_` and `-` are unchanged, everything
 * else is `%XX` per UTF-8 byte, half a surrogate pair is `%uXXXX`, and the empty text is a single
 * `%`. A token therefore never contains `.`, `*`, `>` or white space, different texts have
 * different tokens, and `parse(format(s))` is `s`.
 */
import { TroupeError } from './errors.ts';
import { type Address, type AddressParts, address, parseAddress } from './address.ts';
import type { Lane } from './statechart.ts';

export type Subject =
  | { readonly kind: 'mailbox'; readonly env: string; readonly shard: number; readonly lane: Lane }
  | { readonly kind: 'journal'; readonly env: string; readonly shard: number }
  | ({ readonly kind: 'transcript'; readonly env: string } & AddressParts)
  | { readonly kind: 'deadLetters'; readonly domain: string; readonly env: string }
  | {
      readonly kind: 'entryPointIn' | 'entryPointOut';
      readonly domain: string;
      readonly env: string;
      readonly tenant: string;
    };

/** Any text as one subject token. Never throws; injective. */
export const escapeToken = (text: string): string =>
  text === '' ? '%' : PLAIN.test(text) ? text : text.replace(FOREIGN, escapeCharacter);

const PLAIN = /^[A-Za-z0-9_-]+$/;
const FOREIGN = /[^A-Za-z0-9_-]/gu;
const ESCAPES = /%u([0-9A-F]{4})|((?:%[0-9A-F]{2})+)/g;
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

const hex = (byte: number) => byte.toString(16).toUpperCase().padStart(2, '0');

const escapeCharacter = (character: string): string => {
  const point = character.codePointAt(0)!;
  if (point >= 0xd800 && point <= 0xdfff) return `%u${point.toString(16).toUpperCase()}`;
  let escaped = '';
  for (const byte of Buffer.from(character, 'utf8')) escaped += `%${hex(byte)}`;
  return escaped;
};

/**
 * The inverse of `escapeToken`.
 * @throws TroupeError INVALID_ARGUMENT for a token that `escapeToken` never creates
 */
export const unescapeToken = (token: string): string => {
  if (PLAIN.test(token)) return token;
  if (token === '%') return '';
  try {
    const text = token.replace(ESCAPES, (_, unit: string | undefined, bytes: string) =>
      unit === undefined
        ? UTF8.decode(Buffer.from(bytes.replaceAll('%', ''), 'hex'))
        : String.fromCharCode(Number.parseInt(unit, 16)),
    );
    if (escapeToken(text) === token) return text;
  } catch {
    // not UTF-8: reported below, like every other malformed token
  }
  throw new TroupeError(
    'INVALID_ARGUMENT',
    `${JSON.stringify(token)} is not an escaped subject token`,
  );
};

export const mailboxSubject = (env: string, shard: number, lane: Lane) =>
  `mbx.${escapeToken(env)}.${shard}.${lane}`;
export const journalSubject = (env: string, shard: number) => `jrn.${escapeToken(env)}.${shard}`;
/** The record with the cell's id and its number of shards. */
export const cellSubject = (env: string) => `cell.${escapeToken(env)}`;
/** Segments of the history of a shard. */
export const historySubject = (env: string, shard: number) => `hst.${escapeToken(env)}.${shard}`;
/**
 * The turns of one actor with their bodies.
 * @param actor an Address as text. @throws TroupeError INVALID_ARGUMENT when it is not an address
 */
export const fullHistorySubject = (env: string, actor: string) => {
  const { tenant, type, key } = parseAddress(actor);
  return `hst.${escapeToken(env)}.${escapeToken(tenant)}.${escapeToken(type)}.${escapeToken(key)}`;
};
/** What a subject of history contains: segments of a shard, or turns of an actor. */
export type HistorySubject = { readonly shard: number } | { readonly actor: Address };

/** The inverse of the two above; undefined for any other text. */
export const parseHistorySubject = (text: string): HistorySubject | undefined => {
  const [root, , first = '', type, key, ...more] = text.split('.');
  if (root !== 'hst' || more.length > 0) return undefined;
  if (type === undefined) return SHARD.test(first) ? { shard: Number(first) } : undefined;
  if (key === undefined) return undefined;
  return { actor: address(unescapeToken(first), unescapeToken(type), unescapeToken(key)) };
};

/**
 * @param actor an Address as text. @throws TroupeError INVALID_ARGUMENT when it is not an address
 */
export const transcriptSubject = (env: string, actor: string) =>
  formatSubject({ kind: 'transcript', env, ...parseAddress(actor) });
export const deadLetterSubject = (domain: string, env: string) =>
  `a2a.${escapeToken(domain)}.${escapeToken(env)}.dlq`;
export const entryPointSubject = (
  direction: 'in' | 'out',
  domain: string,
  env: string,
  tenant: string,
) => `a2a.${escapeToken(domain)}.${escapeToken(env)}.${direction}.${escapeToken(tenant)}`;

export const formatSubject = (subject: Subject): string => {
  switch (subject.kind) {
    case 'mailbox':
      return mailboxSubject(subject.env, subject.shard, subject.lane);
    case 'journal':
      return journalSubject(subject.env, subject.shard);
    case 'transcript': {
      const { env, tenant, type, key } = subject;
      return `trn.${escapeToken(env)}.${escapeToken(tenant)}.${escapeToken(type)}.${escapeToken(key)}`;
    }
    case 'deadLetters':
      return deadLetterSubject(subject.domain, subject.env);
    case 'entryPointIn':
      return entryPointSubject('in', subject.domain, subject.env, subject.tenant);
    case 'entryPointOut':
      return entryPointSubject('out', subject.domain, subject.env, subject.tenant);
  }
};

/**
 * The inverse of `formatSubject`.
 * @throws TroupeError INVALID_ARGUMENT for a text that it never creates
 */
export const parseSubject = (text: string): Subject => {
  const [root, ...rest] = text.split('.');
  const subject =
    root === 'a2a'
      ? parseEntryPoint(rest)
      : root === 'mbx' || root === 'jrn' || root === 'trn'
        ? parseInternal(root, rest)
        : undefined;
  if (subject === undefined)
    throw new TroupeError(
      'INVALID_ARGUMENT',
      `${JSON.stringify(text)} is not a subject of this cell`,
    );
  return subject;
};

const SHARD = /^(0|[1-9][0-9]{0,5})$/;

const parseInternal = (
  root: 'mbx' | 'jrn' | 'trn',
  tokens: readonly string[],
): Subject | undefined => {
  const [env, second, third, fourth] = tokens;
  if (env === undefined || second === undefined) return undefined;
  if (root === 'trn') {
    if (tokens.length !== 4 || third === undefined || fourth === undefined) return undefined;
    const [tenant, type, key] = [
      unescapeToken(second),
      unescapeToken(third),
      unescapeToken(fourth),
    ];
    return { kind: 'transcript', env: unescapeToken(env), tenant, type, key };
  }
  if (!SHARD.test(second)) return undefined;
  const place = { env: unescapeToken(env), shard: Number(second) };
  if (root === 'jrn') return tokens.length === 2 ? { kind: 'journal', ...place } : undefined;
  if (tokens.length !== 3 || (third !== 'data' && third !== 'control')) return undefined;
  return { kind: 'mailbox', ...place, lane: third };
};

const parseEntryPoint = (tokens: readonly string[]): Subject | undefined => {
  const [domain, env, place, tenant] = tokens;
  if (domain === undefined || env === undefined || place === undefined) return undefined;
  const names = { domain: unescapeToken(domain), env: unescapeToken(env) };
  if (place === 'dlq') return tokens.length === 3 ? { kind: 'deadLetters', ...names } : undefined;
  if (tokens.length !== 4 || tenant === undefined || (place !== 'in' && place !== 'out'))
    return undefined;
  return {
    kind: place === 'in' ? 'entryPointIn' : 'entryPointOut',
    ...names,
    tenant: unescapeToken(tenant),
  };
};

/**
 * Whether a subject matches a pattern with NATS semantics: `*` matches exactly one token, a final
 * `>` one or more. A pattern without wildcards matches itself.
 */
export const subjectMatches = (pattern: string, subject: string): boolean => {
  let p = 0;
  let s = 0;
  for (;;) {
    const pEnd = tokenEnd(pattern, p);
    const sEnd = tokenEnd(subject, s);
    if (pEnd === pattern.length && pEnd - p === 1 && pattern[p] === '>') return true;
    const any = pEnd - p === 1 && pattern[p] === '*';
    if (!any && (pEnd - p !== sEnd - s || !pattern.startsWith(subject.slice(s, sEnd), p)))
      return false;
    if (pEnd === pattern.length || sEnd === subject.length)
      return pEnd === pattern.length && sEnd === subject.length;
    p = pEnd + 1;
    s = sEnd + 1;
  }
};

const tokenEnd = (text: string, from: number): number => {
  const dot = text.indexOf('.', from);
  return dot < 0 ? text.length : dot;
};
