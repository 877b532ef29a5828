import { Type } from '@sinclair/typebox';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { basicTools } from '../../../agent/tools/basic/basic-tools.ts';
import { evaluate, ExpressionError } from '../../../agent/tools/basic/expression.ts';
import { createToolRegistry, cutText, resultBytesMax } from '../../../agent/tools/registry.ts';
import { defineTool } from '../../../agent/tools/tool.ts';
import { toolContext } from './tool-context.ts';

const context = toolContext();
const registry = createToolRegistry(basicTools);
const run = (name: string, args: unknown) => registry.run({ name, args }, context);

describe('the registry', () => {
  const echo = defineTool({
    name: 'echo',
    description: 'Says it again.',
    parameters: Type.Object({
      text: Type.String(),
      times: Type.Optional(Type.Integer({ minimum: 1 })),
    }),
    class: 'repeatable',
    parallel: true,
    run: async ({ text, times = 1 }) => ({ text: text.repeat(times) }),
  });
  const own = createToolRegistry([echo]);

  it('reports an unknown tool with the available ones', async () => {
    const result = await run('fly', {});
    expect(result.isError).toBe(true);
    expect(result.text).toContain('clock, calculate');
  });

  it('refuses wrong arguments with the path, the fault and the schema', async () => {
    const result = await own.run({ name: 'echo', args: { times: 0 } }, context);
    expect(result.isError).toBe(true);
    expect(result.text).toMatch(/text: Expected required property/);
    expect(result.text).toMatch(/times: Expected integer to be greater or equal to 1/);
    expect(result.text).toContain('"required":["text"]');
  });

  it.each([['{"text": "a'], [undefined], [null], [[]], [7]])(
    'refuses %j as arguments',
    async (args) => {
      const result = await own.run({ name: 'echo', args }, context);
      expect(result.isError).toBe(true);
      expect(result.text).toContain('echo');
    },
  );

  it('omits images that are too many or too large, with a note', async () => {
    const image = (length: number) =>
      ({ mimeType: 'image/png', data: 'A'.repeat(length) }) as const;
    const shows = defineTool({
      name: 'shows',
      description: 'Shows.',
      parameters: Type.Object({}),
      class: 'repeatable',
      parallel: true,
      run: async () => ({
        text: 'seen',
        images: [image(1_400_000), ...Array.from({ length: 9 }, () => image(4))],
      }),
    });
    const result = await createToolRegistry([shows]).run({ name: 'shows', args: {} }, context);
    expect(result.images).toEqual(Array.from({ length: 8 }, () => image(4)));
    expect(result.text).toBe('[2 images are left out: they are too many, or too large]\nseen');
  });

  it('runs a call with valid arguments', async () => {
    expect(await own.run({ name: 'echo', args: { text: 'ab', times: 2 } }, context)).toEqual({
      text: 'abab',
    });
  });

  it('cuts a result to 64 KiB without splitting a character, with a note', async () => {
    const { text } = await own.run(
      { name: 'echo', args: { text: 'x木🎭', times: 20_000 } },
      context,
    );
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(resultBytesMax);
    expect(Buffer.byteLength(text)).toBeGreaterThan(resultBytesMax - 8);
    expect(text).toMatch(/\[cut: this is the beginning of 160000 bytes\]$/);
    expect(text).not.toContain('\uFFFD');
  });

  it('cuts a result to the limit of its tool, if it has one', async () => {
    const bytesMax = 80 * 1_024;
    const wide = createToolRegistry([{ ...echo, resultBytesMax: bytesMax }]);
    const call = (times: number) => wide.run({ name: 'echo', args: { text: 'x', times } }, context);
    expect((await call(bytesMax)).text).toBe('x'.repeat(bytesMax));
    expect(Buffer.byteLength((await call(bytesMax + 1)).text)).toBe(bytesMax);
  });

  it('cuts any text to a prefix of it', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 5 }), (piece) => {
        const text = piece.repeat(Math.ceil((resultBytesMax + 1) / Buffer.byteLength(piece)));
        const cut = cutText(text);
        expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(resultBytesMax);
        expect(text.startsWith(cut.slice(0, cut.lastIndexOf('\n[cut: ')))).toBe(true);
      }),
      { numRuns: 30 },
    );
    expect(cutText('a'.repeat(resultBytesMax))).toHaveLength(resultBytesMax);
  });

  it('rethrows an error of a tool, so that the host can decide about a retry', async () => {
    const failing = createToolRegistry([{ ...echo, run: () => Promise.reject(new Error('lost')) }]);
    await expect(failing.run({ name: 'echo', args: { text: 'a' } }, context)).rejects.toThrow(
      'lost',
    );
  });

  it('describes its tools as plain JSON schema', () => {
    const [spec] = own.specs();
    expect(structuredClone(spec)).toEqual(spec);
    expect(spec?.parameters).toMatchObject({ type: 'object', required: ['text'] });
  });

  it('refuses two tools with one name, and names that a provider would refuse', () => {
    expect(() => createToolRegistry([echo, echo])).toThrow('Two tools');
    expect(() => createToolRegistry([{ ...echo, name: 'a.b' }])).toThrow('Bad tool name');
  });
});

describe('clock', () => {
  it('returns the time of the call, in UTC or in a time zone', async () => {
    expect((await run('clock', {})).text).toBe('Tuesday 2026-03-03 13:05:09 (UTC)');
    expect((await run('clock', { timeZone: 'Asia/Ho_Chi_Minh' })).text).toMatch(
      /^Tuesday 2026-03-03 20:05:09 \(Asia\/.*, UTC\+07:00\)$/,
    );
    expect((await run('clock', { timeZone: 'America/New_York' })).text).toContain('08:05:09');
  });

  it('reports an unknown time zone', async () => {
    const result = await run('clock', { timeZone: 'Mars/Olympus' });
    expect(result).toMatchObject({ isError: true });
    expect(result.text).toContain('Mars/Olympus');
  });
});

describe('calculate', () => {
  it.each([
    ['2+2', '4'],
    ['2 + 3 * 4 - 1', '13'],
    ['(2+3)*4', '20'],
    ['2^3^2', '512'],
    ['2 ** 10', '1024'],
    ['-2^2', '-4'],
    ['2^-1', '0.5'],
    ['--3', '3'],
    ['10 % 4', '2'],
    ['7/2', '3.5'],
    ['0.1 + 0.2', '0.3'],
    ['1.5e3 + .5', '1500.5'],
    ['6 × 7 ÷ 2 − 1', '20'],
    ['sqrt(16) + max(1, 2, 3) + sum(1,2)', '10'],
    ['round(pi * 100) / 100', '3.14'],
    ['LN(e)', '1'],
    ['9007199254740991', '9007199254740991'],
  ])('%s = %s', async (expression, value) => {
    expect(await run('calculate', { expression })).toEqual({ text: value });
  });

  it.each([
    ['1/0', 'infinite'],
    ['sqrt(-1)', 'no value'],
    ['2 +', 'the end'],
    ['(1', 'Expected ")"'],
    ['1 2', 'Did not expect "2" at 3'],
    ['process.exit()', 'Cannot read ".exit()"'],
    ['constructor(1)', 'Unknown name "constructor"'],
    ['toString', 'Unknown name'],
    ['sqrt(1, 2)', 'takes one number'],
    ['2 $ 3', 'Cannot read "$ 3"'],
    ['1;2', 'Cannot read'],
    ['()', 'Did not expect ")"'],
  ])('refuses %s and explains why', async (expression, why) => {
    const result = await run('calculate', { expression });
    expect(result.isError).toBe(true);
    expect(result.text).toContain(why);
  });

  it('refuses expressions that could exhaust the stack by depth or length', () => {
    expect(() => evaluate(`${'('.repeat(400)}1${')'.repeat(400)}`)).toThrow('nested deeper');
    expect(() => evaluate('-'.repeat(900))).toThrow('nested deeper');
    expect(() => evaluate('1^'.repeat(450))).toThrow('nested deeper');
    expect(() => evaluate('1+'.repeat(600))).toThrow('longer than');
    expect(evaluate(`${'1+'.repeat(499)}1`)).toBe(500);
  });

  it('answers any text with a finite number or with the reason', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom(...'0123456789.+-*/%^(), esqrtpi'.split('')) }),
        (text) => {
          try {
            expect(Number.isFinite(evaluate(text))).toBe(true);
          } catch (error) {
            expect(error).toBeInstanceOf(ExpressionError);
          }
        },
      ),
    );
  });

  it('evaluates products before sums, both from the left', () => {
    const number = fc.integer({ min: 1, max: 1_000 });
    const product = fc.array(number, { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(fc.array(product, { minLength: 1, maxLength: 4 }), (terms) => {
        const text = terms.map((factors) => factors.join(' / ')).join(' - ');
        const values = terms.map((factors) => factors.reduce((value, factor) => value / factor));
        expect(evaluate(text)).toBe(values.reduce((value, term) => value - term));
      }),
    );
  });
});
