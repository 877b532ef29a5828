import { type TSchema, Type } from '@sinclair/typebox';
import { describe, expect, it } from 'vitest';
import {
  CHECK_ERRORS_MAX,
  checker,
  describeErrors,
  epochMsOf,
  SemanticVersion,
  TraceId,
} from '../../protocols/check.ts';

const accepts = (schema: TSchema, text: string) => checker(schema)(text).ok;

describe('a check', () => {
  it('returns the value itself when it is valid', () => {
    const value = { port: 1 };
    const answer = checker(Type.Object({ port: Type.Integer() }))(value);
    expect(answer).toEqual({ ok: true, value });
    expect(answer.ok && answer.value).toBe(value);
  });

  it.each([
    [Type.Array(Type.String(), { minItems: 1 }), [], 'must not be empty'],
    [Type.Array(Type.String(), { minItems: 2 }), ['a'], 'must have at least 2 items'],
    [Type.Array(Type.String(), { uniqueItems: true }), ['a', 'a'], 'must have each item once'],
    [Type.Number({ exclusiveMinimum: 0 }), 0, 'must be above 0'],
    [Type.Number({ exclusiveMaximum: 1 }), 1, 'must be below 1'],
  ])('says what %j must be', (schema, value, message) => {
    expect(checker(schema)(value)).toMatchObject({ ok: false, errors: [{ message }] });
  });

  it('reports each error once, with its path and the value found', () => {
    const check = checker(
      Type.Object(
        {
          port: Type.Integer({ minimum: 1 }),
          mode: Type.Union([Type.Literal('a'), Type.Literal('b')]),
          name: Type.String(),
        },
        { additionalProperties: false },
      ),
    );
    const answer = check({ port: 0, mode: 'c', prot: 1 });
    expect(answer).toEqual({
      ok: false,
      errors: expect.arrayContaining([
        { path: '/name', message: 'is required' },
        { path: '/prot', message: 'is not a known field', value: 1 },
        { path: '/mode', message: 'must be one of "a", "b"', value: 'c' },
        { path: '/port', message: 'must be at least 1', value: 0 },
      ]),
    });
    expect(answer.ok ? [] : answer.errors).toHaveLength(4);
  });

  it('validates plain JSON Schemas with a type: lists of values and open objects', () => {
    const check = checker(
      Type.Object({
        mode: Type.Unsafe<'a' | 'b'>({ type: 'string', enum: ['a', 'b'] }),
        schema: Type.Unsafe<Record<string, unknown>>({ type: 'object' }),
      }),
    );
    expect(check({ mode: 'a', schema: { type: 'string' } }).ok).toBe(true);
    expect(check({ mode: 'c', schema: [] })).toMatchObject({
      errors: [
        { path: '/mode', message: 'must be one of "a", "b"', value: 'c' },
        { path: '/schema', message: 'must be an object' },
      ],
    });
  });

  it('reports for a union the errors of its nearest branch', () => {
    const check = checker(
      Type.Object({ id: Type.Union([Type.String({ format: 'uuid' }), Type.Null()]) }),
    );
    const answer = check({ id: 'x' });
    expect(answer.ok ? '' : describeErrors(answer.errors)).toMatch(/^\/id must be a UUID/);
    const deep = checker(
      Type.Union([Type.Object({ a: Type.Object({ b: Type.Null() }) }), Type.Null()]),
    );
    expect(deep({ a: { b: 1 } })).toEqual({
      ok: false,
      errors: [{ path: '/a/b', message: 'must be null', value: 1 }],
    });
  });

  it('shows neither secrets nor long texts nor structures', () => {
    const check = checker(
      Type.Object({ token: Type.Number(), text: Type.Number(), tree: Type.Number() }),
      { secret: /^\/token/ },
    );
    const answer = check({ token: 'hunter2', text: 'x'.repeat(500), tree: { deep: true } });
    expect(answer.ok).toBe(false);
    const [token, text, tree] = answer.ok ? [] : answer.errors;
    expect(token).toEqual({ path: '/token', message: 'must be number' });
    expect(text?.value).toHaveLength(121);
    expect(tree).toEqual({ path: '/tree', message: 'must be number' });
  });

  it('reports no more errors than its bound', () => {
    const answer = checker(Type.Array(Type.String()))(Array.from({ length: 1000 }, (_, at) => at));
    expect(answer.ok ? [] : answer.errors).toHaveLength(CHECK_ERRORS_MAX);
  });
});

describe('common texts', () => {
  it.each([
    ['2026-01-31T09:30:00Z', true],
    ['2026-01-31T09:30:00.123456+07:00', true],
    ['2016-12-31T23:59:60Z', true],
    ['2024-02-29T00:00:00Z', true],
    ['2026-02-29T00:00:00Z', false],
    ['2026-04-31T00:00:00Z', false],
    ['2026-13-01T00:00:00Z', false],
    ['2026-01-31T24:00:00Z', false],
    ['2026-01-31T09:30:00', false],
    ['2026-01-31', false],
  ])('a time %s: %s', (text, expected) => {
    expect(accepts(Type.String({ format: 'date-time' }), text)).toBe(expected);
  });

  it('a time with a leap second is the second before it', () => {
    expect(epochMsOf('2016-12-31T23:59:60Z')).toBe(Date.UTC(2016, 11, 31, 23, 59, 59));
    expect(epochMsOf('2016-12-31t23:59:60.5+01:00')).toBe(Date.UTC(2016, 11, 31, 22, 59, 59, 500));
    expect(epochMsOf('2026-01-31T09:30:00z')).toBe(Date.UTC(2026, 0, 31, 9, 30));
  });

  it.each([
    ['1.0.0', true],
    ['1.2.3-rc.1+build.5', true],
    ['1.0', false],
    ['01.0.0', false],
    ['v1.0.0', false],
  ])('a version %s: %s', (text, expected) => {
    expect(accepts(SemanticVersion, text)).toBe(expected);
  });

  it.each([
    ['4bf92f3577b34da6a3ce929d0e0e4736', true],
    ['00000000000000000000000000000001', true],
    ['00000000000000000000000000000000', false],
    ['4bf92f3577b34da6a3ce929d0e0e473', false],
    ['4bf92f3577b34da6a3ce929d0e0e473g', false],
  ])('a trace id %s: %s', (text, expected) => {
    expect(accepts(TraceId, text)).toBe(expected);
  });
});
