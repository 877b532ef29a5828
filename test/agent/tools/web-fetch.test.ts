import type { lookup } from 'node:dns';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { publicLookup } from '../../../agent/tools/web/net/addresses.ts';
import type { Reader } from '../../../agent/tools/web/net/reader.ts';
import { webFetchTool, type WebFetchOptions } from '../../../agent/tools/web/web-fetch.ts';
import { toolContext } from './context.ts';
import { answering, html, openSite, redirecting, type Page } from './web-site.ts';

const fetchTool = (options: Partial<WebFetchOptions> = {}) => {
  const tool = webFetchTool({
    allowPrivate: ['127.0.0.1'],
    monotonicMs: () => performance.now(),
    ...options,
  });
  return (url: string, more: object = {}, signal = new AbortController().signal) =>
    tool.run({ url, ...more }, toolContext({ signal }));
};

const PARAGRAPH = 'The quick brown fox jumps over the lazy dog, and then it rests. '.repeat(8);
const ARTICLE = `<!doctype html><html><head><title>Foxes</title><style>p{color:red}</style></head>
<body><nav><a href="/">Home</a></nav><article><h1>On foxes</h1><p>${PARAGRAPH}</p>
<p>${PARAGRAPH}</p><ul><li>red</li><li>grey</li></ul><pre><code>let fox = 1;</code></pre></article>
<script>document.write('scripted')</script><footer>imprint</footer></body></html>`;

describe('the text of a page', () => {
  it('is its main part as Markdown, with title and source, and without scripts', async () => {
    const site = await openSite({ '/fox': html(ARTICLE) });
    const { text, isError } = await fetchTool()(`${site.url}/fox`);
    expect(isError).toBe(false);
    expect(text).toContain(`Source: ${site.url}/fox (from outside`);
    expect(text).toContain('Title: Foxes');
    expect(text).toMatch(/-\s+red/);
    expect(text).toContain('let fox = 1;');
    expect(text).not.toMatch(/scripted|color:red|imprint/);
  });

  it('is the whole page when it has no main part', async () => {
    const site = await openSite({ '/': html('<p>Hello <b>there</b></p>') });
    expect((await fetchTool()(site.url)).text).toContain('Hello **there**');
  });

  it.each<[string, Page, string]>([
    ['JSON is indented', answering('application/json', '{"a":[1]}'), '"a": [\n    1\n  ]'],
    ['text stays as it is', answering('text/plain', 'a  b\n c'), 'a  b\n c'],
    [
      'the charset of the header counts',
      answering('text/plain; charset=iso-8859-1', Buffer.from('caf\u00e9', 'latin1')),
      'café',
    ],
    [
      'the charset that a page says of itself counts',
      answering(
        'text/html',
        Buffer.from('<meta charset="windows-1252"><p>caf\u00e9</p>', 'latin1'),
      ),
      'café',
    ],
    [
      'compressed pages are read',
      (_, response) => {
        response.writeHead(200, { 'content-type': 'text/plain', 'content-encoding': 'gzip' });
        response.end(gzipSync('small again'));
      },
      'small again',
    ],
  ])('%s', async (_, page, expected) => {
    const site = await openSite({ '/': page });
    expect((await fetchTool()(site.url)).text).toContain(expected);
  });

  it('can be continued without another request', async () => {
    const site = await openSite({ '/': answering('text/plain', `${'a'.repeat(200)}THE END`) });
    const run = fetchTool();
    expect((await run(site.url, { characters: 200 })).text).toContain('continue with from: 200');
    expect((await run(site.url, { from: 200 })).text).toMatch(/THE END$/);
    expect(site.asked).toEqual(['GET /']);
  });

  it('is requested again after five minutes', async () => {
    let now = 0;
    const site = await openSite({ '/': answering('text/plain', 'hello') });
    const run = fetchTool({ monotonicMs: () => now });
    await run(site.url);
    now = 299_999;
    await run(site.url);
    expect(site.asked).toHaveLength(1);
    now = 300_000;
    await run(site.url);
    expect(site.asked).toHaveLength(2);
  });

  it.each<[string, Page, RegExp]>([
    [
      'a page that is no text is reported',
      answering('image/png', Buffer.from([0x89, 0])),
      /is not text: image\/png/,
    ],
    ['a missing page is reported', answering('text/plain', 'gone', 404), /status 404/],
    [
      'a page that is too large is refused',
      answering('text/plain', 'x'.repeat(5_000)),
      /larger than/,
    ],
    [
      'a page that decompresses to a huge size is refused',
      (_, response) => {
        response.writeHead(200, { 'content-type': 'text/plain', 'content-encoding': 'gzip' });
        response.end(gzipSync(Buffer.alloc(10_000_000)));
      },
      /larger than/,
    ],
    [
      'a truncated answer is reported',
      (_, response) => void response.socket?.destroy(),
      /cannot be reached/,
    ],
  ])('%s', async (_, page, words) => {
    const site = await openSite({ '/': page });
    const result = await fetchTool({ bytesMax: 4_096 })(site.url);
    expect(result).toMatchObject({ isError: true });
    expect(result.text).toMatch(words);
  });

  it('is not awaited after the call is aborted', async () => {
    const site = await openSite({ '/': () => {} });
    const abort = new AbortController();
    const waiting = fetchTool()(site.url, {}, abort.signal);
    abort.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'CANCELLED' });
  });
});

describe('a request', () => {
  const resolving = (...answers: string[]) => {
    const asked: string[] = [];
    const resolve = ((name: string, _: unknown, done: (...args: unknown[]) => void) => {
      asked.push(name);
      const address = answers[Math.min(asked.length, answers.length) - 1]!;
      done(null, [{ address, family: 4 }]);
    }) as unknown as typeof lookup;
    return { resolve, asked };
  };

  it('never goes to loopback, unless the configuration allows it', async () => {
    const site = await openSite({ '/': html('secret') });
    const { text, isError } = await fetchTool({ allowPrivate: [] })(site.url);
    expect([isError, text]).toEqual([true, expect.stringMatching(/not on the public internet/)]);
    expect(site.asked).toEqual([]);
  });

  it('never goes to a name that resolves to a private address', async () => {
    const site = await openSite({ '/': html('secret') });
    const { resolve } = resolving('127.0.0.1');
    const run = fetchTool({ allowPrivate: [], resolve });
    const { text } = await run(`http://inside.example:${site.port}/`);
    expect(text).toMatch(/inside\.example is not on the public internet/);
    expect(site.asked).toEqual([]);
  });

  it('goes to the checked address: a name is looked up once per connection', () => {
    const { resolve, asked } = resolving('93.184.216.34', '127.0.0.1');
    const given: unknown[] = [];
    publicLookup(resolve)('rebind.example', { all: true }, (...answer) => given.push(answer));
    expect(given).toEqual([[null, [{ address: '93.184.216.34', family: 4 }]]]);
    expect(asked).toEqual(['rebind.example']);
  });

  it('does not follow a redirect to a private address', async () => {
    const inside = await openSite({ '/': html('secret') });
    const site = await openSite({ '/': redirecting(inside.url) });
    const { text } = await fetchTool({ allowPrivate: [site.host] })(site.url);
    expect(text).toMatch(/not on the public internet/);
    expect(inside.asked).toEqual([]);
  });

  it('follows at most five redirects', async () => {
    const hops = (count: number) =>
      Object.fromEntries(
        Array.from({ length: count }, (_, at) => [`/${at}`, redirecting(`/${at + 1}`)]),
      );
    const site = await openSite({ ...hops(5), '/5': html('arrived') });
    const result = await fetchTool()(`${site.url}/0`);
    expect(result.text).toContain('arrived');
    expect(result.text).toContain(`Source: ${site.url}/5`);
    const longer = await openSite({ ...hops(6), '/6': html('arrived') });
    expect((await fetchTool()(`${longer.url}/0`)).text).toMatch(/redirects more than 5 times/);
  });
});

it('web_fetch uses an injected reader', async () => {
  const reader: Reader = { read: () => Promise.resolve({ text: 'as read', form: 'text' }) };
  const site = await openSite({ '/': html('x') });
  expect((await fetchTool({ reader })(site.url)).text).toContain('as read');
});
