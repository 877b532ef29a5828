import fc from 'fast-check';
import { expect, it } from 'vitest';
import { formatTraceparent, parseTraceparent } from '../../protocols/trace.ts';

const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
const span = '00f067aa0ba902b7';

it('reads the example of the specification', () => {
  expect(parseTraceparent(`00-${trace}-${span}-01`, 'congo=t61rcWkgMzE')).toEqual({
    traceId: trace,
    spanId: span,
    sampled: true,
    tracestate: 'congo=t61rcWkgMzE',
  });
  expect(parseTraceparent(`00-${trace}-${span}-00`)?.sampled).toBe(false);
});

it('accepts the known part of a later version', () => {
  expect(parseTraceparent(`cc-${trace}-${span}-09-what-comes-later`)).toMatchObject({
    traceId: trace,
    sampled: true,
  });
});

it.each([
  ['nothing', undefined],
  ['an empty text', ''],
  ['version ff', `ff-${trace}-${span}-01`],
  ['more behind the flags of version 00', `00-${trace}-${span}-01-more`],
  ['a trace id of zeros', `00-${'0'.repeat(32)}-${span}-01`],
  ['a span id of zeros', `00-${trace}-${'0'.repeat(16)}-01`],
  ['upper case', `00-${trace.toUpperCase()}-${span}-01`],
  ['a short trace id', `00-${trace.slice(1)}-${span}-01`],
  ['blanks around it', ` 00-${trace}-${span}-01`],
  ['flags that are not hex', `00-${trace}-${span}-0x`],
])('rejects %s as trace context', (_, text) => {
  expect(parseTraceparent(text)).toBeUndefined();
});

it.each([
  ['too long', `a=${'b'.repeat(511)}`],
  ['of too many members', Array.from({ length: 33 }, (_, n) => `a${n}=1`).join(',')],
  ['with a line break', 'a=1\r\nx: y'],
  ['empty', ''],
])('omits a tracestate that is %s, and keeps the trace', (_, state) => {
  const read = parseTraceparent(`00-${trace}-${span}-01`, state);
  expect(read).toEqual({ traceId: trace, spanId: span, sampled: true });
});

it('parses its own output', () => {
  const digits = (length: number) =>
    fc
      .string({
        unit: fc.constantFrom(...Array.from('0123456789abcdef')),
        minLength: length,
        maxLength: length,
      })
      .filter((text) => /[^0]/.test(text));
  fc.assert(
    fc.property(digits(32), digits(16), fc.boolean(), (traceId, spanId, sampled) => {
      const context = { traceId, spanId, sampled };
      expect(parseTraceparent(formatTraceparent(context))).toEqual(context);
    }),
  );
});
