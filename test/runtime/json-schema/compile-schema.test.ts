/** External schemas: none may block the process. */
import { describe, expect, it } from 'vitest';
import { compileSchema } from '../../../runtime/json-schema/compile-schema.ts';
import { TroupeError } from '../../../protocols/errors.ts';

const text = (pattern: string) => ({ properties: { text: { type: 'string', pattern } } });
const TOO_LONG = [{ path: '', message: expect.stringContaining('cannot be checked in time') }];

/** Thrown by it. */
const codeOf = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    if (error instanceof TroupeError) return error.code;
  }
  return 'nothing';
};

describe('a schema of an agent outside', () => {
  it('reports the path of an invalid value, and never the value', () => {
    const check = compileSchema(text('^[a-z]+$'));
    expect(check({ text: 'abc' })).toEqual([]);
    const [error] = check({ text: 'SECRET' });
    expect(error).toMatchObject({ path: '/text' });
    expect(JSON.stringify(error)).not.toContain('SECRET');
  });

  it('may describe nested values of any depth', () => {
    const check = compileSchema({
      additionalProperties: false,
      properties: { child: { $ref: '#' } },
    });
    expect(check({ child: { child: {} } })).toEqual([]);
    expect(check({ child: { child: { other: 1 } } })).toMatchObject([
      { path: '/child/child/other' },
    ]);
  });

  it('shares no names with another schema', () => {
    const named = (type: string) => ({ properties: { a: { $id: 'https://example.com/a', type } } });
    expect(compileSchema(named('string'))({ a: 'x' })).toEqual([]);
    expect(compileSchema(named('number'))({ a: 1 })).toEqual([]);
    expect(codeOf(() => compileSchema({ $ref: 'https://example.com/a' }))).toBe('INVALID_ARGUMENT');
  });

  it('whose pattern backtracks exponentially is aborted and then suspended', () => {
    const check = compileSchema(text('^(a+)+$'));
    expect(check({ text: 'aaa' })).toEqual([]);
    expect(check({ text: `${'a'.repeat(60)}!` })).toEqual(TOO_LONG);
    expect(codeOf(() => check({ text: 'aaa' }))).toBe('UNAVAILABLE');
  });

  it('that compares all items with all others is aborted', () => {
    const check = compileSchema({ type: 'array', uniqueItems: true });
    expect(check(Array.from({ length: 60_000 }, (_, n) => ({ n })))).toEqual(TOO_LONG);
  });

  it('that refers to itself endlessly is aborted', () => {
    const check = compileSchema({ allOf: [{ $ref: '#' }] });
    expect(check({})).toEqual(TOO_LONG);
  });

  it('that refers repeatedly to a large part does not copy it', () => {
    const many = (of: (n: number) => unknown) =>
      Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`field_${n}`, of(n)]));
    const large = { properties: many(() => ({ type: 'string', minLength: 1 })) };
    const check = compileSchema({
      $defs: { large },
      properties: many(() => ({ $ref: '#/$defs/large' })),
    });
    expect(check({ field_7: { field_8: 'x' } })).toEqual([]);
    expect(check({ field_7: { field_8: 5 } })).toMatchObject([{ path: '/field_7/field_8' }]);
  });

  it('does not block the checks of other schemas', () => {
    const slow = compileSchema(text('^(b+)+$'));
    expect(slow({ text: `${'b'.repeat(60)}!` })).toEqual(TOO_LONG);
    expect(compileSchema(text('^b+$'))({ text: 'bbb' })).toEqual([]);
  });

  // Bug: servers of the MCP SDK 1.x name draft-07, and had no tools at all.
  it('of draft-07 is read as such when it says so', () => {
    const $schema = 'http://json-schema.org/draft-07/schema#';
    const pair = { type: 'array', items: [{ type: 'string' }, { type: 'number' }] };
    const check = compileSchema({ $schema, type: 'object', properties: { pair } });
    expect(check({ pair: ['a', 1] })).toEqual([]);
    expect(check({ pair: ['a', 'b'] })).toMatchObject([{ path: '/pair/1' }]);
    expect(() => compileSchema({ type: 'object', properties: { pair } })).toThrow(/2020-12/);
    expect(() => compileSchema({ $schema, type: 7 })).toThrow(/draft-07/);
  });

  it('that is invalid is refused', () => {
    expect(codeOf(() => compileSchema({ type: 'no such type' }))).toBe('INVALID_ARGUMENT');
    expect(codeOf(() => compileSchema({ $async: true, required: ['a'] }))).toBe('INVALID_ARGUMENT');
    const inner = { properties: { a: { $async: true, required: ['b'] } } };
    expect(codeOf(() => compileSchema(inner))).toBe('INVALID_ARGUMENT');
    expect(codeOf(() => compileSchema({ $ref: 'https://example.com/other' }))).toBe(
      'INVALID_ARGUMENT',
    );
  });
});
