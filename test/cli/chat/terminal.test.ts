import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TroupeError } from '../../../protocols/errors.ts';
import { AnswerPrinter, replacedNote } from '../../../cli/chat/answer-printer.ts';
import { exitCodeOf, exitCodes, takenPort } from '../../../cli/exit.ts';
import { connectionError } from '../../../client/gateway-errors.ts';
import { ago, table } from '../../../operations/text.ts';
import { bytes } from '../../../cli/output.ts';
import { originOf } from '../../../cli/options.ts';
import { withSecret } from '../../../cli/processes/start.ts';
import { load } from '../../runtime/config/folder.ts';

function printed(shown: readonly string[], final: string): string {
  let output = '';
  const printer = new AnswerPrinter((text) => {
    output += text;
  });
  for (const text of shown) printer.show(text);
  printer.finish(final);
  return output;
}

describe('a table', () => {
  it('contains no control characters, whatever names contain', () => {
    expect(table(['name', 'id'], [['a\u001b[2J\n', '1']])).toBe('NAME    ID\na [2J   1\n');
  });
});

describe('a streamed answer', () => {
  it('is printed once, however its text is streamed', () => {
    const cuts = fc.array(fc.nat(40), { maxLength: 20 });
    fc.assert(
      fc.property(fc.string({ maxLength: 40 }), cuts, (answer, lengths) => {
        const output = printed(
          lengths.map((length) => answer.slice(0, length)),
          answer,
        );
        expect(output).toBe(answer.trim() === '' ? '' : `${answer.trim()}\n`);
      }),
    );
  });

  it.each(['one\n', 'one \n\n', ' \none', '\n', 'one\u000b\f\u00a0\ufeff', 'one\r\n\ttwo  '])(
    'is printed once if only white space around it differs from the final text: %j',
    (streamed) => {
      const output = printed([streamed.slice(0, 2), streamed], streamed.trim());
      expect(output).toBe(streamed.trim() === '' ? '' : `${streamed.trim()}\n`);
    },
  );

  it('continues where it was if it was restarted with the same text', () => {
    expect(printed(['one two', 'one', '…hree', 'one two three'], 'one two three')).toBe(
      'one two three\n',
    );
  });

  it('is printed again as a whole, with a note, if the final text differs', () => {
    expect(printed(['one two', 'uno'], 'uno dos')).toBe(`one two\n${replacedNote}\nuno dos\n`);
  });

  it('contains each message once, whether or not it was printed when it was sent', () => {
    let output = '';
    const printer = new AnswerPrinter((text) => (output += text));
    printer.show('I look.');
    printer.message('one');
    printer.show('Done');
    printer.finish('Done.', ['one', 'two', 'one']);
    expect(output).toBe('I look.\none\nDone\ntwo\none\nDone.\n');
  });

  it('keeps the printed text if it failed', () => {
    expect(printed(['one'], '')).toBe('one\n');
  });
});

describe('the exit code', () => {
  const cases: [name: string, error: unknown, code: number][] = [
    ['a wrong argument', new TroupeError('INVALID_ARGUMENT', 'x'), exitCodes.usage],
    ['an unknown thing', new TroupeError('NOT_FOUND', 'x'), exitCodes.usage],
    ['an unreachable gateway', connectionError('unreachable', 'ws://x'), exitCodes.unreachable],
    ['a wrong token', new TroupeError('UNAUTHORIZED', 'x'), exitCodes.refused],
    ['a missing right', new TroupeError('FORBIDDEN', 'x'), exitCodes.refused],
    ['a time-out', new TroupeError('DEADLINE_EXCEEDED', 'x'), exitCodes.timeout],
    [
      'a folder in use',
      new TroupeError('UNAVAILABLE', 'x', { details: { reason: 'LOCKED' } }),
      exitCodes.taken,
    ],
    ['a port in use', Object.assign(new Error('x'), { code: 'EADDRINUSE' }), exitCodes.taken],
    ['another TroupeError', new TroupeError('INTERNAL', 'x'), exitCodes.failure],
    ['a fault', new TypeError('x'), exitCodes.failure],
    ['no error at all', 'x', exitCodes.failure],
  ];
  it.each(cases)('of %s is distinct', (_name, error, code) => {
    expect(exitCodeOf(error)).toBe(code);
  });

  it('finds an occupied port in the chain of causes', () => {
    const cause = Object.assign(new Error('listen'), { code: 'EADDRINUSE', port: 7 });
    expect(
      takenPort(new Error('outer', { cause: new TroupeError('CONFLICT', 'x', { cause }) })),
    ).toEqual({
      port: 7,
    });
    expect(takenPort(new Error('outer'))).toBeUndefined();
  });
});

describe('text for a terminal', () => {
  it('is a table as wide as its cells, without trailing blanks', () => {
    expect(
      table(
        ['key', 'status'],
        [
          ['agent:main:main', ''],
          ['b', 'running'],
        ],
      ),
    ).toBe('KEY              STATUS\nagent:main:main\nb                running\n');
  });

  it('shows durations and sizes in their largest unit', () => {
    expect([0, 59_499, 60_000, 7_300_000, 200_000_000].map(ago)).toEqual([
      '0 s',
      '59 s',
      '1 min',
      '2 h',
      '2 d',
    ]);
    expect([5e8, 3.44e9].map(bytes)).toEqual(['500 MB', '3.4 GB']);
  });
});

describe('the address', () => {
  it('is reachable from this machine, whatever the gateway listens on', async () => {
    const at = (gateway: string) => originOf(load(`{ gateway: ${gateway} }`).config);
    expect(await at('{}')).toBe('http://127.0.0.1:18789');
    expect(await at("{ bind: 'lan', port: 7 }")).toBe('http://127.0.0.1:7');
    expect(await at("{ bind: 'custom', customBindHost: '::1' }")).toBe('http://[::1]:18789');
    const tls = "tls: { certFile: 'cert.pem', keyFile: 'key.pem' }";
    expect(await at(`{ port: 7, ${tls} }`)).toBe('https://127.0.0.1:7');
  });

  it('contains the token after the #, once, and only if there is one', () => {
    const { config } = load("{ gateway: { auth: { token: 'a b/c' } } }");
    expect(withSecret('http://127.0.0.1:1', config)).toBe('http://127.0.0.1:1/#token=a%20b%2Fc');
    expect(withSecret('http://127.0.0.1:1/#token=x', config)).toBe('http://127.0.0.1:1/#token=x');
    const open = load("{ gateway: { auth: { mode: 'none' } } }").config;
    expect(withSecret('http://127.0.0.1:1/', open)).toBe('http://127.0.0.1:1/');
  });
});
