import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { address } from '../../protocols/address.ts';
import * as subjects from '../../protocols/subjects.ts';

/** Any text of JavaScript, halves of surrogate pairs included. */
const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string(),
  fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units)),
  fc.stringMatching(/^[%u0-9A-F.*> ]{0,8}$/),
);
const shard = fc.integer({ min: 0, max: 65_535 });
const lane = fc.constantFrom('data' as const, 'control' as const);

const subject: fc.Arbitrary<subjects.Subject> = fc.oneof(
  fc.record({ kind: fc.constant('mailbox' as const), env: anyText, shard, lane }),
  fc.record({ kind: fc.constant('journal' as const), env: anyText, shard }),
  fc.record({
    kind: fc.constant('transcript' as const),
    env: anyText,
    tenant: anyText,
    type: anyText,
    key: anyText,
  }),
  fc.record({ kind: fc.constant('deadLetters' as const), domain: anyText, env: anyText }),
  fc.record({
    kind: fc.constantFrom('entryPointIn' as const, 'entryPointOut' as const),
    domain: anyText,
    env: anyText,
    tenant: anyText,
  }),
);

describe('a token', () => {
  it('encodes any text uniquely, in characters allowed in subjects', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const token = subjects.escapeToken(text);
        expect(token).toMatch(/^[A-Za-z0-9_%-]+$/);
        expect(subjects.unescapeToken(token)).toBe(text);
      }),
      { numRuns: 1000 },
    );
  });

  it('keeps plain names unchanged, so that subjects are readable', () => {
    expect(subjects.escapeToken('prod-1_eu')).toBe('prod-1_eu');
    expect(subjects.escapeToken('agent:main:dm:+49')).toBe('agent%3Amain%3Adm%3A%2B49');
    expect(subjects.escapeToken('ü.*>')).toBe('%C3%BC%2E%2A%3E');
    expect(subjects.escapeToken('')).toBe('%');
  });

  it.each(['a%', '%2e', '%41', '%C3', '%ED%A0%80', '%u0041', 'a b', 'ü', '', '%%'])(
    'is never %j',
    (token) => {
      expect(() => subjects.unescapeToken(token)).toThrow(/is not an escaped subject token/);
    },
  );
});

describe('a subject', () => {
  it('is parsed into exactly the parts from which it was created', () => {
    fc.assert(
      fc.property(subject, (parts) => {
        const text = subjects.formatSubject(parts);
        expect(subjects.parseSubject(text)).toEqual(parts);
        expect(text).not.toMatch(/[*>\s]|\.\.|^\.|\.$/);
      }),
      { numRuns: 500 },
    );
  });

  it('differs for different parts', () => {
    fc.assert(
      fc.property(subject, subject, (a, b) => {
        const same = JSON.stringify(a) === JSON.stringify(b);
        expect(subjects.formatSubject(a) === subjects.formatSubject(b)).toBe(same);
      }),
    );
  });

  it('has the names of the grammar', () => {
    const actor = address('acme', 'session', 'agent:main:main');
    expect(subjects.mailboxSubject('prod', 7, 'control')).toBe('mbx.prod.7.control');
    expect(subjects.journalSubject('prod', 7)).toBe('jrn.prod.7');
    expect(subjects.transcriptSubject('prod', actor)).toBe(
      'trn.prod.acme.session.agent%3Amain%3Amain',
    );
    expect(subjects.deadLetterSubject('agent_data', 'prod')).toBe('a2a.agent_data.prod.dlq');
    expect(subjects.entryPointSubject('in', 'agent_data', 'prod', 'acme')).toBe(
      'a2a.agent_data.prod.in.acme',
    );
    expect(subjects.entryPointSubject('out', 'agent_data', 'prod', 'acme')).toBe(
      'a2a.agent_data.prod.out.acme',
    );
  });

  it.each([
    'mbx.prod.7',
    'mbx.prod.07.data',
    'mbx.prod.7.other',
    'mbx.prod.7.data.x',
    'mbx.prod.x.data',
    'jrn.prod',
    'jrn.prod.7.8',
    'jrn..7',
    'trn.prod.acme.session',
    'a2a.d.prod.dlq.x',
    'a2a.d.prod.in',
    'a2a.d.prod.inn.acme',
    'a2a.d.prod.>',
    'other.prod.7',
    '',
  ])('of ours is never %j', (text) => {
    expect(() => subjects.parseSubject(text)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }) as Error,
    );
  });
});

/** The rule of NATS written token by token. */
const matchesByDefinition = (pattern: readonly string[], tokens: readonly string[]): boolean => {
  const [first, ...rest] = pattern;
  if (first === undefined) return tokens.length === 0;
  if (first === '>' && rest.length === 0) return tokens.length > 0;
  if (tokens.length === 0 || (first !== '*' && first !== tokens[0])) return false;
  return matchesByDefinition(rest, tokens.slice(1));
};

describe('a pattern', () => {
  const token = fc.constantFrom('a', 'b', 'ab', 'mbx');
  it('matches the same subjects as in NATS', () => {
    const pattern = fc.tuple(
      fc.array(fc.oneof(token, fc.constant('*')), { minLength: 1, maxLength: 4 }),
      fc.constantFrom<readonly string[]>([], ['>']),
    );
    fc.assert(
      fc.property(
        pattern,
        fc.array(token, { minLength: 1, maxLength: 5 }),
        ([head, tail], tokens) => {
          const whole = [...head, ...tail];
          const found = subjects.subjectMatches(whole.join('.'), tokens.join('.'));
          expect(found).toBe(matchesByDefinition(whole, tokens));
        },
      ),
      { numRuns: 2000 },
    );
  });

  it.each([
    ['>', 'a', true],
    ['>', 'a.b.c', true],
    ['a.>', 'a', false],
    ['a.*', 'a.b.c', false],
    ['a.*.c', 'a.b.c', true],
    ['a.b', 'a.bc', false],
    ['a.bc', 'a.b', false],
    ['run.acme.>', 'run.acme.agent%3Amain%3Amain', true],
    ['run.acme.>', 'run.acmex.k', false],
  ])('%s on %s gives %s', (pattern, text, expected) => {
    expect(subjects.subjectMatches(pattern, text)).toBe(expected);
  });
});
