import { describe, expect, it } from 'vitest';
import * as keys from '../../../actors/keyring/keys.ts';
import { keyringMachine } from '../../../actors/keyring/machine.ts';
import type { KeyringContext } from '../../../actors/keyring/types.ts';
import {
  isGoodKey,
  KEY_LIFE_MS,
  KEY_OVERLAP_MS_DEFAULT,
  type KeyRow,
  keyringAddress,
  KEYS_MAX,
  KEYS_PER_SUB_MAX,
} from '../../../protocols/security/keyring.ts';
import { kidOf } from '../../../protocols/security/signature.ts';
import type { Message, Meta, Reply } from '../../../protocols/statechart.ts';
import { initialState, fired, type Live, step } from '../../../runtime/statechart/host.ts';
import { explore, requestsOf, exploreRandomly } from '../../charts/coverage.ts';
import { exploration, newKey, one, three, two, UNFIT } from './walk.ts';

const self = keyringAddress('default');
const NOW = Date.parse('2026-01-01T00:00:00Z');
const meta = (now: number): Meta => ({ id: `m${now}`, now, self, reply: { id: `m${now}` } });
const fresh = () =>
  initialState(keyringMachine, { self, tenant: 'default', key: 'keys', now: NOW }, meta(NOW)).live;

/** The reply of the keyring, and the keyring afterwards. */
const ask = (live: Live, event: Message, now = NOW) => {
  const made = step(keyringMachine, live, { event: { ...event, meta: meta(now) } }, now);
  return { live: made.live, ...requestsOf<Reply>(made.requests, 'reply')[0]! };
};
const keysOf = (live: Live) => (live.snapshot.context as KeyringContext).keys;
const add = (sub: string, publicJwk = newKey()) => ({ type: 'keyring.add', sub, publicJwk });

describe('the keyring statechart', () => {
  it('reaches every state and transition, and keeps its invariants on every path', () => {
    expect(explore(exploration).unreached).toEqual([]);
  });

  it('keeps its invariants on long random paths', () => {
    expect(exploreRandomly(exploration, 60)).toBe(60);
  });
});

describe('a keyring', () => {
  it.each(UNFIT)('refuses %s', (_, event) => {
    expect(ask(fresh(), event).error).toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  it('keeps the public part of a key for 90 days', () => {
    const secret = { ...one, d: 'secret', use: 'sig' };
    const { live, result } = ask(fresh(), add('ann', secret));
    const row = result as KeyRow;
    expect(row).toEqual({
      kid: kidOf(one),
      sub: 'ann',
      publicJwk: one,
      status: 'active',
      created_at: '2026-01-01T00:00:00.000Z',
      expires_at: '2026-04-01T00:00:00.000Z',
    });
    expect(isGoodKey(row, NOW + KEY_LIFE_MS - 1)).toBe(true);
    expect(isGoodKey(row, NOW + KEY_LIFE_MS)).toBe(false);
    const [id, timer] = Object.entries(live.timers)[0]!;
    const end = meta(NOW + KEY_LIFE_MS);
    const over = step(keyringMachine, live, fired(live, id, timer.key, end), end.now).live;
    expect(keysOf(over)[row.kid]?.status).toBe('expired');
  });

  it('keeps the old key valid for the overlap, but not past its own end', () => {
    const first = ask(fresh(), add('ann', one)).live;
    const late = NOW + KEY_LIFE_MS - 1_000;
    const rotate = { type: 'keyring.rotate', sub: 'ann', publicJwk: two };
    const soon = ask(first, rotate, NOW + 1_000);
    expect(keysOf(soon.live)[kidOf(one)]).toMatchObject({
      status: 'retiring',
      retires_at: new Date(NOW + 1_000 + KEY_OVERLAP_MS_DEFAULT).toISOString(),
    });
    expect(soon.result).toMatchObject({ kid: kidOf(two), status: 'active' });
    expect(keysOf(ask(first, rotate, late).live)[kidOf(one)]).toMatchObject({
      retires_at: new Date(NOW + KEY_LIFE_MS).toISOString(),
    });
  });

  it('answers a repeated rotation with the first result, and retires no key again', () => {
    const first = ask(fresh(), add('ann', one)).live;
    const rotate = { type: 'keyring.rotate', sub: 'ann', publicJwk: two };
    const once = ask(first, rotate);
    const twice = ask(once.live, rotate, NOW + 5_000);
    expect(twice.result).toEqual(once.result);
    expect(keysOf(twice.live)).toEqual(keysOf(once.live));
  });

  it('never accepts a revoked key again, nor a valid key of another principal', () => {
    const first = ask(fresh(), add('ann', one)).live;
    expect(ask(first, add('bob', one)).error).toMatchObject({ code: 'CONFLICT' });
    const { live } = ask(first, { type: 'keyring.revoke', kid: kidOf(one) });
    expect(keysOf(live)[kidOf(one)]?.status).toBe('revoked');
    expect(ask(live, add('ann', one)).error).toMatchObject({ code: 'CONFLICT' });
    expect(ask(live, { type: 'keyring.rotate', sub: 'ann', publicJwk: three }).error).toMatchObject(
      { code: 'NOT_FOUND' },
    );
  });

  it('limits the valid keys of one principal', () => {
    let live = fresh();
    for (let n = 0; n < KEYS_PER_SUB_MAX; n++) live = ask(live, add('ann')).live;
    expect(ask(live, add('ann')).error).toMatchObject({ code: 'CONFLICT' });
    expect(ask(live, add('bob')).error).toBeUndefined();
  });
});

describe('a keyring that is full', () => {
  const row = (n: number, createdMs: number): KeyRow => ({
    kid: `k${n}`,
    sub: `s${n}`,
    publicJwk: one,
    status: 'expired',
    created_at: new Date(createdMs).toISOString(),
    expires_at: new Date(createdMs + KEY_LIFE_MS).toISOString(),
  });
  const full = (createdMs: number): KeyringContext => ({
    keys: Object.fromEntries(
      Array.from({ length: KEYS_MAX }, (_, n) => [`k${n}`, row(n, createdMs + n)]),
    ),
    changed: [],
  });
  const event = { ...add('ann'), meta: meta(NOW) } as Parameters<typeof keys.add>[0]['event'];

  it('forgets the key that expired first', () => {
    const context = full(NOW - KEY_LIFE_MS - KEYS_MAX);
    expect(keys.isInvalid({ context, event })).toBe(false);
    const after = { ...context, ...keys.add({ context, event }) };
    expect(Object.keys(after.keys)).toHaveLength(KEYS_MAX);
    expect(after.changed[0]).toBe('k0');
    expect(keys.projected(after)).toMatchObject({ key: 'k0', value: null });
  });

  it('refuses a new key rather than forget one whose 90 days have not ended', () => {
    expect(keys.fault({ context: full(NOW - 10_000), event })).toMatchObject({ code: 'CONFLICT' });
  });
});
