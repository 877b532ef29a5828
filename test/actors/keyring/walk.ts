/** The events that a keyring can receive, and the invariants that hold on every path. */
import { generateKeyPairSync } from 'node:crypto';
import { keyringMachine } from '../../../actors/keyring/machine.ts';
import type { KeyringContext } from '../../../actors/keyring/types.ts';
import { defined } from '../../../protocols/defined.ts';
import {
  isGoodKey,
  KEY_LIFE_MS,
  KEY_OVERLAP_MS_MAX,
  keyEnd,
  type KeyRow,
  keyringAddress,
  KEYS_MAX,
} from '../../../protocols/security/keyring.ts';
import { type Ed25519Jwk, kidOf } from '../../../protocols/security/signature.ts';
import type { Message, Project, Reply } from '../../../protocols/statechart.ts';
import type { Live } from '../../../runtime/statechart/host.ts';
import {
  demand,
  type Exploration,
  type Happened,
  type Ledger,
  type Move,
  requestsOf,
} from '../../charts/coverage.ts';

export const newKey = (): Ed25519Jwk => {
  const { kty, crv, x } = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' });
  return { kty, crv, x } as Ed25519Jwk;
};
export const [one, two, three] = [newKey(), newKey(), newKey()] as const;

const contextOf = (live: Live) => live.snapshot.context as KeyringContext;
const add = (sub: string, publicJwk: Ed25519Jwk): Message => ({
  type: 'keyring.add',
  sub,
  publicJwk,
});
const rotate = (sub: string, publicJwk: Ed25519Jwk, overlapMs?: number): Message => ({
  type: 'keyring.rotate',
  sub,
  publicJwk,
  ...defined({ overlapMs }),
});
const revoke = (kid: string): Message => ({ type: 'keyring.revoke', kid });

/** The projected rows, and changes of a row that are never permitted. */
class Books implements Ledger {
  readonly rows: Map<string, KeyRow>;

  constructor(from?: Books) {
    this.rows = new Map(from?.rows);
  }

  copy(): Ledger {
    return new Books(this);
  }

  take({ cause, meta, step }: Happened): void {
    for (const { key, value } of requestsOf<Project>(step.requests, 'project')) {
      const row = value as KeyRow | null;
      const before = this.rows.get(key);
      if (row === null) this.rows.delete(key);
      else this.rows.set(key, row);
      if (before && row) {
        demand(isGoodKey(before, meta.now) || !isGoodKey(row, meta.now)).toBe(true);
        demand(keyEnd(row)).toBeLessThanOrEqual(keyEnd(before));
        demand([row.sub, row.publicJwk]).toEqual([before.sub, before.publicJwk]);
      }
    }
    const { keys, changed } = contextOf(step.live);
    demand(changed).toEqual([]);
    demand(Object.fromEntries(this.rows)).toEqual(keys);
    demand(this.rows.size).toBeLessThanOrEqual(KEYS_MAX);
    const asked = cause.event.type.startsWith('keyring.');
    demand(requestsOf<Reply>(step.requests, 'reply').map(({ to }) => to?.id)).toEqual(
      asked ? [meta.id] : [],
    );
    const good = [...this.rows.values()].filter(({ status }) => /active|retiring/.test(status));
    demand(step.live.snapshot.value).toBe(good.length > 0 ? 'keeping' : 'resting');
    if (good.length > 0) {
      const [timer] = Object.values(step.live.timers).filter(({ fired }) => !fired);
      const end = Math.min(...good.map(keyEnd));
      demand(timer?.due).toBeGreaterThanOrEqual(end);
      demand(timer?.due).toBeLessThanOrEqual(Math.max(meta.now, end));
    }
  }
}

export const UNFIT: [string, Message][] = [
  ['no sub', add('', one)],
  ['a sub that is no text', { ...add('a', one), sub: 7 }],
  ['a private or other key', { ...add('a', one), publicJwk: { kty: 'RSA', n: 'x', e: 'AQAB' } }],
  ['half a key', add('a', { ...one, x: one.x.slice(1) })],
  ['no key', { type: 'keyring.add', sub: 'a' }],
  ['an overlap below 0', rotate('a', two, -1)],
  ['an overlap beyond the longest', rotate('a', two, KEY_OVERLAP_MS_MAX + 1)],
];

export const exploration: Exploration = {
  machine: keyringMachine,
  self: keyringAddress('default'),
  ledger: () => new Books(),
  moves: (): Move[] => [
    { name: 'add one', event: add('ann', one) },
    { name: 'add two', event: add('ann', two) },
    { name: "add ann's as bob's", event: add('bob', one) },
    { name: 'rotate to two', event: rotate('ann', two) },
    { name: 'rotate to three at once', event: rotate('ann', three, 0) },
    { name: 'rotate late', event: rotate('ann', three, KEY_OVERLAP_MS_MAX) },
    { name: 'rotate a principal without keys', event: rotate('eve', two) },
    { name: 'revoke one', event: revoke(kidOf(one)) },
    { name: 'revoke nothing', event: revoke('__proto__') },
    { name: 'unfit', event: UNFIT[0]![1] },
  ],
  key: (live) =>
    Object.values(contextOf(live).keys).map(({ kid, status, created_at, retires_at }) => [
      kid,
      status,
      retires_at === undefined
        ? 0
        : Math.round((Date.parse(retires_at) - Date.parse(created_at)) / (KEY_LIFE_MS / 10)),
    ]),
};
