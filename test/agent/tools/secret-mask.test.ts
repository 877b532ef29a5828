import { describe, expect, it } from 'vitest';
import { createSecretMask, MASKED, NO_SECRETS } from '../../../agent/tools/secret-mask.ts';

const KEY = 'sk-live/0123+abc"def';
const LONGER = `${KEY}-and-more`;
const PEM = `-----BEGIN PRIVATE KEY-----\nMIIBVAIBADANBgkqhkiG9w0BAQEFAASCAT4w\nshort==\n-----END PRIVATE KEY-----`;
const mask = createSecretMask([KEY, LONGER, PEM, 'short', 'mật-khẩu-của-tôi']);

/** The output of a stream that receives the text cut at these positions. */
const inPieces = (text: string, cuts: readonly number[]): string => {
  const stream = mask.textStream();
  const ends = [...cuts, text.length];
  return (
    ends.map((end, n) => stream.add(text.slice(ends[n - 1] ?? 0, end))).join('') + stream.end()
  );
};

describe('a masked text', () => {
  it.each([
    ['as it is', `key=${KEY}!`, 'key=***!'],
    ['twice', `${KEY}${KEY}`, '******'],
    ['as a JSON string holds it', JSON.stringify({ key: KEY }), '{"key":"***"}'],
    ['as a URL holds it', `?key=${encodeURIComponent(KEY)}&a=1`, '?key=***&a=1'],
    ['that begins with another value', `<${LONGER}>`, '<***>'],
    ['a line of a key of several lines', 'MIIBVAIBADANBgkqhkiG9w0BAQEFAASCAT4w\r\n', '***\r\n'],
    ['beyond ASCII', '[mật-khẩu-của-tôi]', '[***]'],
    ['in hex', `<${Buffer.from(KEY).toString('hex')}>`, '<***>'],
    ['in capital hex', `<${Buffer.from(KEY).toString('hex').toUpperCase()}>`, '<***>'],
  ])('contains no value %s', (_, text, expected) => expect(mask.text(text)).toBe(expected));

  it.each(['', 'u', 'us', 'user:', 'a long name: '])(
    'contains no value in base64, after %j',
    (before) => {
      for (const after of ['', ':', '\n', ' and more'])
        for (const encoding of ['base64', 'base64url'] as const) {
          const encoded = Buffer.from(before + KEY + after).toString(encoding);
          const masked = mask.text(`Basic ${encoded}.`);
          expect(masked).toContain('***');
          // A few characters at each edge remain, because they also encode bits of adjacent text.
          const others = Math.ceil(((before.length + after.length) * 4) / 3);
          expect(masked.length).toBeLessThan('Basic ***.'.length + others + 8);
        }
    },
  );

  it('keeps short values, banners of keys and everything else', () => {
    const text = 'short -----BEGIN PRIVATE KEY----- sk-live/0123 $& $1';
    expect(mask.text(text)).toBe(text);
    expect(NO_SECRETS.text(KEY)).toBe(KEY);
  });
});

describe('a masked stream', () => {
  const text = `a ${LONGER} b ${KEY}${KEY} c ${KEY.slice(0, -1)} mật-khẩu-của-tôi ${KEY.slice(0, 5)}`;

  it('equals the masked whole text, wherever it is cut', () => {
    for (let first = 0; first <= text.length; first++)
      for (let second = first; second <= text.length; second += 7)
        expect(inPieces(text, [first, second])).toBe(mask.text(text));
  });

  it('emits immediately what cannot be the beginning of a value', () => {
    const stream = mask.textStream();
    expect(stream.add('done\n')).toBe('done\n');
    expect(stream.add('sk-liv')).toBe('');
    expect(stream.add('id\n')).toBe('sk-livid\n');
    expect(stream.end()).toBe('');
  });

  it('of bytes may be cut within characters, and changes no other byte', () => {
    const bytes = Buffer.concat([
      Buffer.from([0xff, 0x00, 0xc3]),
      Buffer.from(text),
      Buffer.from([0x80]),
    ]);
    const stream = mask.byteStream();
    const pieces = [...bytes].map((byte) => stream.add(Buffer.from([byte])));
    const left = Buffer.concat([...pieces, stream.end()]);
    const expected = [
      Buffer.from([0xff, 0x00, 0xc3]),
      Buffer.from(mask.text(text)),
      Buffer.from([0x80]),
    ];
    expect(left).toEqual(Buffer.concat(expected));
  });

  it('bug: hundreds of values made each piece of output cost milliseconds', () => {
    const values = Array.from({ length: 2_000 }, (_, n) => `value-${n}-${'x'.repeat(30)}`);
    const stream = createSecretMask(values).byteStream();
    const piece = Buffer.from('value-1, value-, alue-7-xxx: a line of an ordinary program\n');
    let bytes = 0;
    // 3 MB: takes seconds now; the bug made it take minutes
    for (let n = 0; n < 50_000; n++) bytes += stream.add(piece).length;
    bytes += stream.end().length;
    expect(bytes).toBe(50_000 * piece.length);
    expect(stream.add(Buffer.from(values[1_999]!)).length).toBe(MASKED.length);
  }, 60_000);

  it('with a value that repeats within itself stays bounded', () => {
    const stream = createSecretMask(['aaaaaaaa']).textStream();
    let left = '';
    for (let n = 0; n < 100; n++) left += stream.add('aaa');
    expect(left.length).toBeGreaterThan(90);
    expect(left + stream.end()).toMatch(/^(\*\*\*)+a{0,7}$/);
  });
});
