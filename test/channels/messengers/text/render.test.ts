import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Dialect, FORMATS } from '../../../../channels/messengers/text/dialects.ts';
import { render } from '../../../../channels/messengers/text/render.ts';
import { markdown, soup } from './markdown.ts';
import { READERS, seen } from './readers.ts';

describe.each(Object.keys(FORMATS) as Dialect[])('in %s', (dialect) => {
  const readsAsPlain = (text: string): boolean => {
    const { text: written, plain } = render(text, dialect);
    return seen(READERS[dialect](written)) === seen(plain);
  };

  test('a reader sees the plain text, and nothing that the model did not format', () => {
    const found = fc.check(fc.property(markdown, readsAsPlain), { numRuns: 200 });
    expect(found.counterexample).toBeNull();
  });

  test('a reader sees the plain text of any characters', () => {
    const found = fc.check(fc.property(soup, readsAsPlain), { numRuns: 500 });
    expect(found.counterexample).toBeNull();
  });

  test('quotes that are nested too deeply for the reader of Markdown are plain text', () => {
    const { plain } = render('> '.repeat(4_000), dialect);
    expect(plain).toContain('> > >');
  });
});

test('a marker is not joined to a letter above U+FFFF', () => {
  expect(render('𝒳*word*', 'whatsapp').text).toBe('𝒳\u200a_word_');
});

const ANSWER = `# Title & more

Some **bold**, *italic*, ~~old~~ \`a<b\` and [a link](https://example.com/x_y?a=1&b=2).

- one
  - two **un**believable
1. first

> quoted
> > twice

\`\`\`ts
if (a < b) {}
\`\`\`

| Name | Age |
|------|----:|
| Bob | 7 |

---

<b>no</b> ![cat](https://example.com/cat.png)`;

const hair = '\u200a';

test.each([
  'https://example.com/?e=*f*~*_||spoiler||',
  'https://a.b.`*`!|',
  String.raw`[a \*star\*](https://example.com)`,
])('Slack formats nothing in the label of %s', (text) => {
  const { text: written, plain } = render(text, 'slack-mrkdwn');
  expect(seen(READERS['slack-mrkdwn'](written))).toBe(seen(plain));
});

test('Telegram receives HTML', () => {
  expect(render(ANSWER, 'telegram-html').text).toBe(`<b>Title &amp; more</b>

Some <b>bold</b>, <i>italic</i>, <s>old</s> <code>a&lt;b</code> and <a href="https://example.com/x_y?a=1&amp;b=2">a link</a>.

• one
  • two <b>un</b>believable

1. first

<blockquote>quoted

&gt; twice</blockquote>

<pre><code class="language-ts">if (a &lt; b) {}</code></pre>

<pre>Name | Age
-----+----
Bob  |   7</pre>

———

&lt;b&gt;no&lt;/b&gt; <a href="https://example.com/cat.png">cat</a>`);
});

test('Slack receives mrkdwn', () => {
  expect(render(ANSWER, 'slack-mrkdwn').text).toBe(`*Title &amp; more*

Some *bold*, _italic_, ~old~ \`a&lt;b\` and <https://example.com/x_y?a=1&amp;b=2|a link>.

• one
  • two *un*${hair}believable

1. first

&gt; quoted
&gt; 
&gt; \u00ad&gt; twice

\`\`\`
if (a &lt; b) {}
\`\`\`

\`\`\`
Name | Age
-----+----
Bob  |   7
\`\`\`

———

&lt;b&gt;no&lt;/b&gt; <https://example.com/cat.png|cat>`);
});

test('Discord receives its Markdown', () => {
  expect(render(ANSWER, 'discord').text).toBe(`# Title & more

Some **bold**, _italic_, ~~old~~ \`a<b\` and [a link](https://example.com/x%5Fy?a=1&b=2).

• one
  • two **un**${hair}believable

1. first

> quoted
> 
> \\> twice

\`\`\`ts
if (a < b) {}
\`\`\`

\`\`\`
Name | Age
-----+----
Bob  |   7
\`\`\`

———

\\<b>no\\</b> [cat](https://example.com/cat.png)`);
});

test('WhatsApp receives its markers, and links with their targets', () => {
  expect(
    render('**a** [b](https://example.com/x) `c`\n```\nd\n```\n\\*e\\*', 'whatsapp').text,
  ).toBe(`*a* b (https://example.com/x${hair}) \`c\`\n\n\`\`\`d\`\`\`\n\n${hair}*${hair}e${hair}*`);
});

test('the plain text has no markers, and keeps the targets of links', () => {
  expect(render('**a** [b](https://example.com/x) <https://example.com>', 'plain').text).toBe(
    'a b (https://example.com/x) https://example.com',
  );
});

test('wide characters and long cells keep the columns of a table', () => {
  const rows = `| a | b |\n|---|---|\n| 漢字 | 1 |\n| x | 2 |\n| ${'y'.repeat(60)} | 3 |`;
  const width = 40;
  expect(render(rows, 'plain').text.split('\n')).toEqual([
    `${'a'.padEnd(width)} | b`,
    `${'-'.repeat(width)}-+--`,
    `漢字${' '.repeat(width - 4)} | 1`,
    `${'x'.padEnd(width)} | 2`,
    `${'y'.repeat(60)} | 3`,
  ]);
});
