/** Canonical JSON (RFC 8785) of both SDKs, against an independent implementation. */
import fc from 'fast-check';
import { canonicalize } from 'json-canonicalize';
import { expect, it } from 'vitest';
import { canonical } from '../../../protocols/sdk/typescript/client.js';
import { startScenario, withoutPython } from './python.ts';

/** Numbers whose notations differ between implementations, and arbitrary ones. */
const oddNumber = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer(),
  fc.maxSafeInteger(),
  fc.constantFrom(0, -0, 1e21, 1e20, 999999999999999900000, 1e-6, 1e-7, 5e-324, 2 ** 53, 2 ** 60),
  fc.constantFrom(123456.789, 0.1 + 0.2, 1e300, 1.7976931348623157e308, -1.5e-10, 100, 4.5e15),
);
/** Characters beyond the BMP come before U+E000 by UTF-16 units, and after it by code points. */
const oddText = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.string({
    unit: fc.constantFrom('\u{1f600}', '\u{10000}', '\ue000', '\uffff', 'é', '"', '\\', '\b'),
  }),
  fc.string({ unit: fc.constantFrom('\u0000', '\u001f', '\u007f', '\u2028', '/', 'a', '€') }),
);
const { value: anyJson } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    oddNumber,
    oddText,
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(oddText, tie('value'), { maxKeys: 5 }),
  ),
}));

it('the TypeScript SDK writes canonical JSON as json-canonicalize does', () => {
  fc.assert(
    fc.property(anyJson, (value) => {
      expect(canonical(JSON.parse(JSON.stringify(value)))).toBe(canonicalize(value));
    }),
    { numRuns: 2_000 },
  );
});

it('the Python SDK writes canonical JSON as json-canonicalize does', async (context) => {
  context.skip(withoutPython !== undefined, withoutPython);
  const values = fc.sample(anyJson, { numRuns: 3_000 });
  const lines = values.map((value) => `${JSON.stringify(value)}\n`).join('');
  const env = { PYTHONIOENCODING: 'utf-8' };
  const written = await startScenario('canonical_lines', env, lines).ended;
  expect(written).toEqual(values.map((value) => canonicalize(value)));
});

it('a number that is no double is written as the double that parsing it gives', async (context) => {
  context.skip(withoutPython !== undefined, withoutPython);
  const texts = [
    '12345678901234567890',
    '9007199254740993',
    '-9223372036854775808',
    '0.10',
    '-0.0',
  ];
  const written = await startScenario('canonical_lines', {}, texts.join('\n')).ended;
  expect(written).toEqual(texts.map((text) => canonicalize(JSON.parse(text))));
});
