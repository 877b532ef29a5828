/** The browser tool with a real Chromium, against a site on loopback. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { browserTool, type BrowserToolOptions } from '../../../agent/tools/web/browser.ts';
import { SESSIONS_MAX } from '../../../agent/tools/web/browsers.ts';
import { processesUnder } from '../../../agent/sandbox/process-tree.ts';
import { systemClock } from '../../../runtime/index.ts';
import { eventually } from '../../runtime/eventually.ts';
import { chromiumPath } from '../../web/chromium.ts';
import { toolContext } from './context.ts';
import { html, openSite, redirecting } from './web-site.ts';

const browserOf = (allowPrivate: readonly string[], more: Partial<BrowserToolOptions> = {}) =>
  browserTool({
    executable: chromiumPath,
    headless: true,
    evaluate: false,
    allowPrivate,
    clock: systemClock,
    ...more,
  });

const openBrowser = (allowPrivate: readonly string[], more: Partial<BrowserToolOptions> = {}) => {
  const tool = browserOf(allowPrivate, more);
  const sessions = new Set<string>();
  const run = (args: object, sessionKey = 'agent:main:main') => {
    sessions.add(sessionKey);
    return tool.run(args, toolContext({ sessionKey }));
  };
  onTestFinished(async () => {
    for (const key of sessions) await run({ action: 'close' }, key);
  });
  return run;
};
const refOf = (text: string, what: string): string =>
  new RegExp(`${what}.*\\[ref=(\\w+)\\]`).exec(text)?.[1] ?? `no ${what} in ${text}`;

const FORM = `<title>Form</title><h1>Hello</h1><form action="/done"><input name="who" aria-label="who">
<button>Go</button></form><a href="/other">elsewhere</a><script>document.body.append('scripted')</script>`;

it('without Chromium is not offered, and explains what to do', () => {
  const tool = browserTool({
    executable: undefined,
    headless: true,
    evaluate: false,
    allowPrivate: [],
    clock: systemClock,
  });
  expect(tool.unavailable?.()).toMatch(/install one|tools\.browser\.executable/);
});

describe.skipIf(chromiumPath === undefined)('a page in the browser', { timeout: 60_000 }, () => {
  it('is shown with references that can be typed into and clicked', async () => {
    const site = await openSite({
      '/': html(FORM),
      '/done': html('<h1>Thank you</h1>'),
      '/other': html('<h1>Elsewhere</h1>'),
    });
    const run = openBrowser([site.host]);
    expect((await run({ action: 'snapshot' })).text).toMatch(/no page is open/);
    const first = await run({ action: 'open', url: site.url });
    expect(first.text).toMatch(/Source: http:.*from outside/);
    expect(first.text).toContain('scripted');
    const typed = await run({
      action: 'type',
      ref: refOf(first.text, 'textbox "who"'),
      text: 'ada',
    });
    expect(typed.text).toContain('ada');
    const sent = await run({ action: 'click', ref: refOf(typed.text, 'button "Go"') });
    expect(sent.text).toContain('Thank you');
    expect(site.asked).toContain('GET /done?who=ada');
    expect((await run({ action: 'navigate', where: 'back' })).text).toContain('Hello');
    const { images } = await run({ action: 'screenshot' });
    expect(Buffer.from(images![0]!.data, 'base64').subarray(0, 3)).toEqual(
      Buffer.from([0xff, 0xd8, 0xff]),
    );
  });

  it('is closed when a call with an endless script is aborted, and works again afterwards', async () => {
    const site = await openSite({ '/': html('<h1>Here</h1>') });
    const tool = browserOf([site.host], { evaluate: true });
    onTestFinished(() => tool.close?.());
    const run = (args: object, signal = new AbortController().signal) =>
      tool.run(args, toolContext({ signal }));
    await run({ action: 'open', url: site.url });
    const file = await run({ action: 'evaluate', text: "location.href = 'file:///etc/passwd'" });
    expect(file.text).not.toContain('root:');
    expect((await run({ action: 'snapshot' })).text).toContain('Here');
    const stopped = new AbortController();
    const hanging = run({ action: 'evaluate', text: 'for (;;);' }, stopped.signal);
    stopped.abort();
    await expect(hanging).rejects.toMatchObject({ code: 'CANCELLED' });
    expect((await run({ action: 'snapshot' })).text).toMatch(/no page is open/);
    expect((await run({ action: 'open', url: site.url })).text).toContain('Here');
  });

  it('ends with Chromium when troupe stops, even while another page opens', async () => {
    const site = await openSite({ '/': html('<h1>Here</h1>') });
    const tool = browserOf([site.host]);
    const run = (args: object, sessionKey: string) => tool.run(args, toolContext({ sessionKey }));
    const chromiums = () => processesUnder(process.pid, 1_000).length;
    const before = chromiums();
    await run({ action: 'open', url: site.url }, 'a');
    // the session that used the browser last releases it when a new session needs one
    const [, opened] = await Promise.all([
      run({ action: 'close' }, 'a'),
      run({ action: 'open', url: site.url }, 'b'),
    ]);
    expect(opened.text).toContain('Here');
    expect((await run({ action: 'snapshot' }, 'b')).text).toContain('Here');
    await tool.close?.();
    await eventually(() => expect(chromiums()).toBe(before));
  });

  it('loads nothing from private addresses: not by address, redirect, image or script', async () => {
    const inside = await openSite({ '/': html('secret'), '/image': html('secret') });
    const page = `<h1>Outside</h1><img src="${inside.url}/image"><p id="out">waiting</p><script>
      fetch('${inside.url}/').then(() => 'reached', () => 'not reached').then((t) => out.textContent = t);
      </script><iframe src="${inside.url}/frame"></iframe>`;
    const site = await openSite({ '/': html(page), '/go': redirecting(inside.url) });
    const run = openBrowser([site.host]);
    expect((await run({ action: 'open', url: inside.url })).text).toMatch(/not on the public/);
    expect((await run({ action: 'open', url: 'file:///etc/passwd' })).text).toMatch(/not an http/);
    expect((await run({ action: 'open', url: site.url })).text).toContain('Outside');
    const moved = await run({ action: 'open', url: `${site.url}/go` });
    expect(moved.text).not.toContain('secret');
    const socket = new URL(inside.url);
    const tried = await run({ action: 'open', url: `http://localhost:${socket.port}/` });
    expect(tried.text).not.toContain('secret');
    expect(inside.asked).toEqual([]);
  });

  it('shares no cookies with another session, and is closed for the next one when needed', async () => {
    const site = await openSite({
      '/': (request, response) => {
        response.setHeader('set-cookie', 'who=ada');
        html(`<p>cookie: ${request.headers.cookie ?? 'none'}</p>`)(request, response, '');
      },
    });
    const run = openBrowser([site.host]);
    await run({ action: 'open', url: site.url }, 'one');
    expect((await run({ action: 'open', url: site.url }, 'one')).text).toContain('who=ada');
    for (let at = 0; at < SESSIONS_MAX; at++) {
      const { text } = await run({ action: 'open', url: site.url }, `other-${at}`);
      expect(text).toContain('cookie: none');
    }
    expect((await run({ action: 'snapshot' }, 'one')).text).toMatch(/no page is open/);
    expect((await run({ action: 'snapshot' }, 'other-7')).text).toContain('cookie');
  });

  it('runs scripts of the model only when that is enabled', async () => {
    const site = await openSite({ '/': html(FORM) });
    const off = openBrowser([site.host]);
    await off({ action: 'open', url: site.url });
    expect((await off({ action: 'evaluate', text: '1 + 1' })).text).toMatch(/turned off/);
    const on = openBrowser([site.host], { evaluate: true });
    await on({ action: 'open', url: site.url });
    expect((await on({ action: 'evaluate', text: 'document.title' })).text).toContain('"Form"');
  });

  it('reports why an action is impossible', async () => {
    const site = await openSite({ '/': html(FORM) });
    const run = openBrowser([site.host]);
    await run({ action: 'open', url: site.url });
    for (const args of [
      { action: 'open' },
      { action: 'click' },
      { action: 'type', ref: 'e1' },
      { action: 'navigate' },
    ])
      expect(await run(args)).toMatchObject({ isError: true });
  });

  it('reports a browser that does not start', async () => {
    const run = openBrowser([], { executable: '/bin/false' });
    expect((await run({ action: 'open', url: 'http://example.invalid/' })).text).toMatch(
      /\/bin\/false does not start/,
    );
  });
});
