/**
 * Keys: the pure parts of a keyring's chart: its keys, their ends, and the answers.
 */
import type { ErrorData } from '../../protocols/errors.ts';
import {
  KEY_LIFE_MS,
  KEY_OVERLAP_MS_DEFAULT,
  KEY_OVERLAP_MS_MAX,
  keyEnd,
  type KeyringAdd,
  type KeyringRotate,
  type KeyRow,
  KEYS_INDEX,
  KEYS_MAX,
  KEYS_PER_SUB_MAX,
  isGoodKey,
} from '../../protocols/security/keyring.ts';
import { ed25519Jwk, kidOf } from '../../protocols/security/signature.ts';
import type { Project, Reply } from '../../protocols/statechart.ts';
import { type Args, type KeyringContext, on } from './types.ts';

type Offered = KeyringAdd | KeyringRotate;

/** Keys that end in one turn; more end in the next. */
const BATCH = 32;
const SUB_CHARACTERS_MAX = 256;

export const initialContext = (): KeyringContext => ({ keys: {}, changed: [] });

// ---- requests

/** Why the request is refused; undefined if it is valid. */
export function fault({ context, event }: Args): ErrorData | undefined {
  if (event.type === 'keyring.revoke')
    return Object.hasOwn(context.keys, event.kid)
      ? undefined
      : { code: 'NOT_FOUND', message: `there is no key ${text(event.kid)}` };
  return faultOfForm(event) ?? faultOfPlace(context, event, event.meta.now);
}

function faultOfForm(event: Offered): ErrorData | undefined {
  const { sub } = event;
  if (typeof sub !== 'string' || sub === '' || sub.length > SUB_CHARACTERS_MAX)
    return invalid(`sub must be a text of 1 to ${SUB_CHARACTERS_MAX} characters`);
  if (!isKey(event.publicJwk))
    return invalid('the key must be a public Ed25519 key as a JWK, with an x of 32 bytes');
  if (event.type === 'keyring.add') return undefined;
  const { overlapMs = 0 } = event;
  return Number.isInteger(overlapMs) && overlapMs >= 0 && overlapMs <= KEY_OVERLAP_MS_MAX
    ? undefined
    : invalid(`overlapMs must be a whole number from 0 to ${KEY_OVERLAP_MS_MAX}`);
}

function faultOfPlace(
  { keys }: KeyringContext,
  event: Offered,
  now: number,
): ErrorData | undefined {
  const { sub } = event;
  const same = keys[kidOf(event.publicJwk)];
  if (same)
    return same.sub === sub && same.status === 'active' && isGoodKey(same, now)
      ? undefined
      : conflict('this key was registered before: make a new pair');
  const good = goodOf(keys, sub, now);
  if (event.type === 'keyring.rotate' && good.length === 0)
    return { code: 'NOT_FOUND', message: `${text(sub)} has no key to rotate: create one` };
  if (good.length >= KEYS_PER_SUB_MAX)
    return conflict(`${text(sub)} has ${KEYS_PER_SUB_MAX} keys that are good: revoke one`);
  if (Object.keys(keys).length < KEYS_MAX || oldestOver(keys, now)) return undefined;
  return conflict(
    `there are ${KEYS_MAX} keys: one leaves when its ${KEY_LIFE_MS / DAY_MS} days end`,
  );
}

export const isInvalid = (args: Args): boolean => fault(args) !== undefined;

// ---- changes of keys

export const add = on(
  ['keyring.add', 'keyring.rotate'],
  ({ context, event }): Partial<KeyringContext> => {
    const { sub, publicJwk, meta } = event;
    const kid = kidOf(publicJwk);
    if (context.keys[kid]) return {};
    const row: KeyRow = {
      kid,
      sub,
      publicJwk: ed25519Jwk(publicJwk),
      status: 'active',
      created_at: time(meta.now),
      expires_at: time(meta.now + KEY_LIFE_MS),
    };
    return withRows(makeRoom(context, meta.now), [row]);
  },
);

/** The replaced keys stay valid for the overlap, but not past their own ends. */
export const retireOthers = on('keyring.rotate', ({ context, event }): Partial<KeyringContext> => {
  const { sub, publicJwk, overlapMs, meta } = event;
  // The same key is a repeat of an earlier request.
  if (context.keys[kidOf(publicJwk)]) return {};
  const until = meta.now + (overlapMs ?? KEY_OVERLAP_MS_DEFAULT);
  return withRows(
    context,
    goodOf(context.keys, sub, meta.now).map((row) => ({
      ...row,
      status: 'retiring' as const,
      retires_at: time(Math.min(until, keyEnd(row))),
    })),
  );
});

export const revoke = on('keyring.revoke', ({ context, event }): Partial<KeyringContext> => {
  const { kid } = event;
  return withRows(context, [{ ...context.keys[kid]!, status: 'revoked' }]);
});

export function expireDue({ context, event }: Args): Partial<KeyringContext> {
  const due = alive(context.keys).filter((row) => keyEnd(row) <= event.meta.now);
  return withRows(
    context,
    due.slice(0, BATCH).map((row) => ({ ...row, status: 'expired' as const })),
  );
}

/** Until the next key ends. */
export const nextEndMs = ({ context, event }: Args): number =>
  Math.max(0, Math.min(...alive(context.keys).map(keyEnd)) - event.meta.now);

export const somethingEnds = ({ keys }: KeyringContext): boolean => alive(keys).length > 0;

// ---- answers

export const refused = (args: Args): Reply => ({
  to: args.event.meta.reply,
  error: fault(args)!,
});

export const answered = ({ context, event }: Args): Reply => ({
  to: event.meta.reply,
  result: context.keys[event.type === 'keyring.revoke' ? event.kid : kidOf(event.publicJwk)],
});

export const isBehind = ({ changed }: KeyringContext): boolean => changed.length > 0;

export const projected = ({ keys, changed }: KeyringContext): Project => ({
  index: KEYS_INDEX,
  key: changed[0]!,
  value: keys[changed[0]!] ?? null,
});

export const dropFirst = ({ changed }: KeyringContext) => ({ changed: changed.slice(1) });

// ---- parts

const DAY_MS = 86_400_000;
const time = (ms: number): string => new Date(ms).toISOString();
const text = (value: unknown): string => JSON.stringify(String(value).slice(0, 80));
const invalid = (message: string): ErrorData => ({ code: 'INVALID_ARGUMENT', message });
const conflict = (message: string): ErrorData => ({ code: 'CONFLICT', message });

const isKey = (value: unknown): boolean => {
  try {
    return ed25519Jwk(value) !== undefined;
  } catch {
    return false;
  }
};

type Keys = KeyringContext['keys'];
const alive = (keys: Keys): KeyRow[] =>
  Object.values(keys).filter(({ status }) => status === 'active' || status === 'retiring');

const goodOf = (keys: Keys, sub: string, now: number): KeyRow[] =>
  Object.values(keys).filter((row) => row.sub === sub && isGoodKey(row, now));

const withRows = (context: KeyringContext, rows: readonly KeyRow[]): KeyringContext => ({
  keys: { ...context.keys, ...Object.fromEntries(rows.map((row) => [row.kid, row])) },
  changed: [...context.changed, ...rows.map(({ kid }) => kid)],
});

/** A key id may be reused only if the new key cannot be confused with the old one. */
const oldestOver = (keys: Keys, now: number): KeyRow | undefined =>
  Object.values(keys)
    .filter(({ expires_at }) => Date.parse(expires_at) <= now)
    .toSorted((a, b) => Date.parse(a.expires_at) - Date.parse(b.expires_at))[0];

function makeRoom(context: KeyringContext, now: number): KeyringContext {
  if (Object.keys(context.keys).length < KEYS_MAX) return context;
  const { kid } = oldestOver(context.keys, now)!;
  const { [kid]: _, ...keys } = context.keys;
  return { keys, changed: [...context.changed, kid] };
}
