/** Markdown as models write it, and as none should. */
import fc from 'fast-check';

const word = fc.constantFrom(
  'word',
  'Câu',
  '漢字',
  '👩‍👩‍👧',
  '𝒳',
  'snake_case',
  '2 * 3 * 4',
  'a*b',
  '~5',
  '<b>bold</b>',
  '&amp; & &lt;',
  'C#',
  '@everyone',
  '<@123>',
  '`code`',
  '`a_b *c*`',
  '``a ` b``',
  '\\*no\\*',
  '\\_no\\_',
  '\\`',
  'https://example.com/a_b?c=d&e=*f*',
  '<https://example.com/(x)>',
  '[label](https://example.com/x_y)',
  '[*label* `c`](https://example.com "title")',
  '[bad](javascript:alert)',
  '![image](https://example.com/i.png)',
  'me@example.com',
  ':smile:',
  '||spoiler||',
);
const styled = (inner: fc.Arbitrary<string>) =>
  fc
    .tuple(fc.constantFrom('**', '*', '_', '__', '~~', '***', '~', ''), inner)
    .map(([mark, text]) => `${mark}${text}${mark}`);
const phrase = styled(
  fc
    .array(styled(fc.array(word, { minLength: 1, maxLength: 3 }).map((all) => all.join(' '))), {
      minLength: 1,
      maxLength: 3,
    })
    .map((all) => all.join(' ')),
);
const sentence = fc
  .tuple(fc.array(phrase, { minLength: 1, maxLength: 4 }), fc.constantFrom(' ', ''))
  .map(([all, between]) => all.join(between));
const code = fc
  .tuple(
    fc.constantFrom('```', '````', '~~~'),
    fc.constantFrom('', 'ts', 'c++', 'not a language!'),
    fc.array(
      fc.constantFrom('let x = <T>1 && 2;', '', '  # indented', '// `tick` *a*', '> no', '````'),
    ),
  )
  .map(([marks, info, lines]) => `${marks}${info}\n${lines.join('\n')}\n${marks}`);
const row = fc.array(phrase, { minLength: 2, maxLength: 2 }).map((all) => `| ${all.join(' | ')} |`);
const table = fc
  .tuple(row, fc.constantFrom('|---|---|', '|:-:|--:|'), fc.array(row, { maxLength: 3 }))
  .map(([head, rule, rows]) => [head, rule, ...rows].join('\n'));
const indented = (text: string, by: string) => text.replaceAll(/^/gm, by);
const block: fc.Arbitrary<string> = fc.letrec<{ block: string }>((tie) => ({
  block: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    sentence,
    fc.tuple(sentence, sentence).map((all) => all.join('\n')),
    fc.tuple(fc.constantFrom('# ', '## ', '#### '), sentence).map((all) => all.join('')),
    code,
    table,
    fc.constantFrom(
      '---',
      '- [ ] open\n- [x] done',
      '<div>\nraw\n</div>',
      '    code_*a*',
      '\\# no',
      '\\- no',
      '\\> no',
      '1\\. no',
      '[x]: https://example.com',
    ),
    tie('block').map((inner) => indented(inner, '> ')),
    fc
      .tuple(
        fc.constantFrom('- ', '3. ', '* '),
        fc.array(tie('block'), { minLength: 1, maxLength: 3 }),
      )
      .map(([mark, all]) =>
        all.map((one) => mark + indented(one, ' '.repeat(mark.length)).trimStart()).join('\n'),
      ),
  ),
})).block;

/** Blocks with empty lines between them. */
export const markdown = fc.array(block, { maxLength: 8 }).map((all) => all.join('\n\n'));

/** Characters with a meaning, in any order. */
export const soup = fc
  .array(
    fc.constantFrom(
      ...'*_~`[]()<>|#-+.!\\&;:"\'= \t\n'.split(''),
      'a',
      'b ',
      '1',
      '\n\n',
      '```',
      '&amp;',
      '&#0;',
      'https://a.b',
      '\ud83d',
      '\ude00',
      '\u0000',
      '\r',
      'é',
      '文',
      '    ',
    ),
    { maxLength: 80 },
  )
  .map((all) => all.join(''));
