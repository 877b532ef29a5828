import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { address, isAddress } from '../../protocols/address.ts';
import {
  formatSessionKey,
  parseSessionKey,
  SESSION_KEY_BYTES_MAX,
  type SessionKeyParts,
  sessionKey,
  sessionKind,
} from '../../protocols/session-key.ts';

/** Ids from channels, including the separator, the escape character and words of the grammar. */
const id = fc.oneof(
  fc.string({ unit: 'binary', minLength: 1, maxLength: 12 }),
  fc.stringMatching(/^[:%A-F0-9+@-]{1,12}$/),
  fc.constantFrom(
    'dm',
    'group',
    'topic',
    'subagent',
    'cron',
    'hook',
    'node',
    'main',
    'agent',
    'dm:x',
    '\n',
    '%3A',
  ),
);
const of = <T extends string>(type: T) => fc.constant(type);
const parts: fc.Arbitrary<SessionKeyParts> = fc.oneof(
  fc.record({ type: of('main'), agentId: id, mainKey: id }),
  fc.record({ type: of('dm'), agentId: id, peerId: id }),
  fc.record({ type: of('dm'), agentId: id, channel: id, peerId: id }),
  fc.record({ type: of('dm'), agentId: id, channel: id, accountId: id, peerId: id }),
  fc.record({ type: of('group'), agentId: id, channel: id, groupId: id }),
  fc.record({ type: of('topic'), agentId: id, channel: id, groupId: id, threadId: id }),
  fc.record({ type: fc.constantFrom('subagent', 'cron', 'hook', 'node'), agentId: id, id }),
);

describe('a session key', () => {
  it('returns its parts, for ids of any characters', () => {
    fc.assert(
      fc.property(parts, (given) => {
        expect(parseSessionKey(formatSessionKey(given))).toEqual(given);
      }),
      { numRuns: 2000 },
    );
  });

  it('has the same text after parsing, whichever program wrote it', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 60 }),
      fc
        .array(fc.oneof(id, fc.constantFrom('', '%', '%3a', '%41', '50%')), { maxLength: 7 })
        .map((tail) => ['agent', ...tail].join(':')),
    );
    fc.assert(
      fc.property(text, (key) => {
        expect(formatSessionKey(parseSessionKey(key))).toBe(key);
      }),
      { numRuns: 2000 },
    );
  });

  it('is a valid key of an address', () => {
    fc.assert(
      fc.property(parts, (given) => {
        expect(isAddress(address('acme', 'session', formatSessionKey(given)))).toBe(true);
      }),
    );
  });

  it.each([
    [sessionKey.main('main'), 'agent:main:main'],
    [sessionKey.main('work', 'home'), 'agent:work:home'],
    [sessionKey.group('main', 'telegram', '-100'), 'agent:main:telegram:group:-100'],
    [sessionKey.topic('main', 'telegram', '-100', '7'), 'agent:main:telegram:group:-100:topic:7'],
    [sessionKey.subagent('coder', 'a1b2'), 'agent:coder:subagent:a1b2'],
    [sessionKey.cron('main', 'daily'), 'agent:main:cron:daily'],
    [sessionKey.hook('main', 'u1'), 'agent:main:hook:u1'],
    [sessionKey.node('main', 'phone'), 'agent:main:node:phone'],
  ])('%s has the form of the grammar', (made, expected) => {
    expect(made).toBe(expected);
  });

  it.each([
    ['main' as const, 'agent:work:home'],
    ['per-peer' as const, 'agent:work:dm:@bob%3Amatrix.org'],
    ['per-channel-peer' as const, 'agent:work:matrix:dm:@bob%3Amatrix.org'],
    ['per-account-channel-peer' as const, 'agent:work:matrix:second:dm:@bob%3Amatrix.org'],
  ])('of a direct message with scope %s is %s', (scope, expected) => {
    const peer = {
      peerId: '@bob:matrix.org',
      channel: 'matrix',
      accountId: 'second',
      mainKey: 'home',
    };
    expect(sessionKey.dm('work', scope, peer)).toBe(expected);
  });

  it('uses the account `default` and the main key `main` when a direct message has none', () => {
    const peer = { peerId: '7', channel: 'telegram' };
    expect(sessionKey.dm('a', 'per-account-channel-peer', peer)).toBe(
      'agent:a:telegram:default:dm:7',
    );
    expect(sessionKey.dm('a', 'main', peer)).toBe('agent:a:main');
  });

  it.each([
    'global',
    'agent:main',
    'agent::main',
    'agent:main:',
    'agent:a:telegram:channel:7',
    'agent:a:dm:50%',
    'agent:a:x:y:z:w:v',
  ])('of another program (%s) is used unchanged', (key) => {
    expect(parseSessionKey(key)).toEqual({ type: 'other', key });
  });

  it('is refused with an empty part, half a surrogate pair, an account without its channel, or over its bound', () => {
    expect(() => sessionKey.main('')).toThrow(/empty/);
    expect(() => sessionKey.cron('main', '\ud800')).toThrow(/surrogate/);
    expect(() =>
      formatSessionKey({ type: 'dm', agentId: 'a', accountId: 'x', peerId: 'p' }),
    ).toThrow(/channel/);
    const longest = 'p'.repeat(SESSION_KEY_BYTES_MAX - 'agent:a:dm:'.length);
    expect(
      parseSessionKey(formatSessionKey({ type: 'dm', agentId: 'a', peerId: longest })),
    ).toMatchObject({ type: 'dm' });
    expect(() => formatSessionKey({ type: 'dm', agentId: 'a', peerId: `${longest}p` })).toThrow(
      /at most 512 bytes/,
    );
  });
});

describe('the kind of a session', () => {
  it.each([
    ['agent:main:main', 'main'],
    ['agent:main:telegram-123', 'other'],
    ['agent:main:dm:7', 'other'],
    ['agent:main:telegram:group:7', 'group'],
    ['agent:main:telegram:group:7:topic:1', 'group'],
    ['agent:main:cron:daily', 'cron'],
    ['agent:main:hook:u1', 'hook'],
    ['agent:main:node:phone', 'node'],
    ['agent:main:subagent:u1', 'other'],
    ['global', 'other'],
  ])('of %s is %s', (key, kind) => {
    expect(sessionKind(parseSessionKey(key))).toBe(kind);
  });

  it('is main for the configured main key', () => {
    expect(sessionKind(parseSessionKey('agent:main:home'), 'home')).toBe('main');
    expect(sessionKind(parseSessionKey('agent:main:main'), 'home')).toBe('other');
  });
});
