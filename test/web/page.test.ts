import type { BrowserContextOptions, Page } from 'playwright-core';
import { afterEach, describe, expect, test } from 'vitest';
import { MAIN, TOKEN } from '../channels/gateway/client.ts';
import { FakeSessionSystem } from '../channels/gateway/fake-session-system.ts';
import { runningIn, say, useFakeSessions } from './web-world.ts';

const web = useFakeSessions();
let complaints: string[] = [];

afterEach(() => {
  const found = complaints;
  complaints = [];
  if (found.length > 0) throw new Error(`errors in the browser:\n${found.join('\n')}`);
});

const open = async (
  options: BrowserContextOptions = {},
  hash = `#token=${TOKEN}`,
): Promise<Page> => {
  const context = await web.browser.newContext({ locale: 'en-US', ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(10_000);
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    const text = message.text();
    // Some tests stop the server; no other error may occur.
    const isStopped = /WebSocket connection|net::ERR_CONNECTION_REFUSED/.test(text);
    if (message.type() === 'error' && !isStopped) complaints.push(text);
  });
  await page.goto(`${web.gateway.url}${hash}`);
  return page;
};

const online = async (options?: BrowserContextOptions): Promise<Page> => {
  const page = await open(options);
  await page.getByText('Connected', { exact: true }).waitFor();
  return page;
};

const running = () => runningIn(web);
const answers = (page: Page) => page.locator('.message.agent');
/** How long a condition may take to become true. */
const soon = { timeout: 10_000 };
const asked = (page: Page) => page.locator('.message.user');

/** Texts of a locator's elements, without those for screen readers only. */
const texts = (page: Page, selector: string) =>
  page
    .locator(selector)
    .evaluateAll((found) =>
      found.map((each) => (each.querySelector('.plain, .rich') ?? each).textContent?.trim()),
    );

const restart = async (): Promise<void> => {
  const { port } = web.gateway;
  await web.gateway.close({ reason: 'restart' });
  await web.serve({ port }, new FakeSessionSystem(web.system.kept));
};

describe('a conversation', () => {
  test('streams, has exactly one answer, and is shown again after a reload', async () => {
    const page = await online();
    await say(page, 'What is six times seven?');
    await running();
    await page.locator('.message.agent .dots').waitFor();
    web.system.say(MAIN, 'The answer ');
    await page.getByText('The answer').waitFor();
    expect(await answers(page).getAttribute('aria-busy')).toBe('true');
    web.system.say(MAIN, 'is **42**.');
    await page.getByText('The answer is 42.').waitFor();
    web.system.finish(MAIN, 'The answer is **42**.');
    await page.locator('.message.agent[aria-busy=false]').waitFor();
    expect(await answers(page).count()).toBe(1);

    await page.reload();
    await answers(page).waitFor();
    await expect
      .poll(() => texts(page, '.message'), soon)
      .toEqual(['What is six times seven?', 'The answer is 42.']);
    expect(await page.locator('.message.agent strong').textContent()).toBe('42');
  });

  test('continues when the server restarts during an answer', async () => {
    const page = await online();
    await say(page, 'Tell me a story');
    const runId = await running();
    web.system.say(MAIN, 'Once upon a ti');
    await page.getByText('Once upon a ti').waitFor();
    await restart();
    await page.getByText('Connected', { exact: true }).waitFor();
    web.system.resume();
    web.system.say(MAIN, 'Once upon a time.', 0);
    await page.getByText('Once upon a time.').waitFor();
    web.system.finish(MAIN, 'Once upon a time.');
    await page.locator('.message.agent[aria-busy=false]').waitFor();
    await expect
      .poll(() => texts(page, '.message'), soon)
      .toEqual(['Tell me a story', 'Once upon a time.']);
    expect(web.system.kept.table('runs').size).toBe(1);
    expect(runId).toBeDefined();
  });

  test('shows the partial answer when it is opened during one', async () => {
    const first = await online();
    await say(first, 'hello');
    await running();
    web.system.say(MAIN, 'I am say');
    await first.getByText('I am say').waitFor();
    const second = await online();
    await second.getByText('I am say').waitFor();
    web.system.say(MAIN, 'ing this to both.');
    web.system.finish(MAIN, 'I am saying this to both.');
    for (const page of [first, second]) {
      await page.locator('.message.agent[aria-busy=false]').waitFor();
      await expect
        .poll(() => texts(page, '.message'), soon)
        .toEqual(['hello', 'I am saying this to both.']);
    }
  });

  test('queues messages during an answer, which can be stopped', async () => {
    const page = await online();
    await say(page, 'first');
    await running();
    web.system.say(MAIN, 'A long answer');
    await page.getByText('A long answer').waitFor();
    await say(page, 'second');
    await page.getByText('Waiting for its turn').waitFor();
    await page.reload();
    await page.getByText('Waiting for its turn').waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('Stopped').waitFor();
    await page.getByText('Waiting for its turn').waitFor({ state: 'detached' });
    web.system.finish(MAIN, 'The second answer');
    await page.getByText('The second answer').waitFor();
    expect(await asked(page).count()).toBe(2);
    // The text before the stop is still there, above the later messages.
    // The list of conversations may show the answer first.
    await expect
      .poll(() => texts(page, '.log > li'))
      .toEqual(['first', 'A long answer', 'Stopped', 'second', 'The second answer']);
  });

  test('shows each step of a tool once, while it happens and afterwards', async () => {
    const page = await online();
    await say(page, 'what time is it?');
    await running();
    web.system.say(MAIN, 'Let me look.');
    await page.getByText('Let me look.').waitFor();
    web.system.tool(MAIN, { id: 'c1', name: 'clock', args: {} }, 'noon', 'Let me look.');
    await page.getByText('Used clock').waitFor();
    web.system.say(MAIN, 'It is noon.');
    await page.getByText('It is noon.').waitFor();
    const lines = [
      'what time is it?',
      'Let me look.',
      expect.stringContaining('Used clock'),
      'It is noon.',
    ];
    await expect.poll(() => texts(page, '.log > li'), soon).toEqual(lines);
    web.system.finish(MAIN, 'It is noon.');
    await page.locator('.message[aria-busy=true]').waitFor({ state: 'detached' });
    await expect.poll(() => texts(page, '.log > li'), soon).toEqual(lines);
  });

  test('shows why an answer failed', async () => {
    const page = await online();
    await say(page, 'hello');
    await running();
    web.system.fail(MAIN, { code: 'UNAVAILABLE', message: 'the model is down' });
    await page.getByText('The answer failed: the model is down').waitFor();
    expect(await page.locator('[role=alert]').count()).toBe(1);
  });
});

describe('the end of the log', () => {
  test('stays in view unless the user has scrolled up; a new message scrolls back to it', async () => {
    const page = await online({ viewport: { width: 800, height: 400 } });
    const bottom = () =>
      page
        .locator('.scroll')
        .evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight);
    await say(page, 'much, please');
    await running();
    web.system.say(MAIN, 'word\n\n'.repeat(60));
    await expect.poll(() => page.locator('.message.agent p').count(), soon).toBe(60);
    expect(await bottom()).toBeLessThan(2);
    await page.locator('.scroll').evaluate((box) => box.scrollTo({ top: 0 }));
    await page.getByRole('button', { name: 'Newest messages' }).waitFor();
    web.system.say(MAIN, 'more');
    await expect.poll(() => page.locator('.message.agent p').count(), soon).toBe(61);
    expect(await bottom()).toBeGreaterThan(200);
    await say(page, 'enough');
    await expect.poll(bottom, soon).toBeLessThan(2);
  });
});

describe('a message', () => {
  test('is sent once after a reconnect if it was written while the server was down', async () => {
    const page = await online();
    const { port } = web.gateway;
    await web.gateway.close();
    await say(page, 'are you there?');
    await page.getByText('Will be sent when the connection is back').waitFor();
    await page.getByText(/No connection|restarts/).waitFor();
    await web.serve({ port });
    await running();
    web.system.finish(MAIN, 'I am.');
    await page.getByText('I am.').waitFor();
    await expect.poll(() => texts(page, '.message'), soon).toEqual(['are you there?', 'I am.']);
  });

  test('is sent again with its key after a reload if it was not acknowledged', async () => {
    const page = await online();
    const ask = web.system.ask.bind(web.system);
    // The message arrives, its acknowledgement does not.
    web.system.ask = async (...call) => {
      const answer = await ask(...call);
      if (call[1].type === 'session.receive') await new Promise(() => {});
      return answer;
    };
    await say(page, 'only once');
    await running();
    web.system.ask = ask;
    await page.reload();
    await page.locator('.message.agent .dots').waitFor();
    web.system.finish(MAIN, 'Yes.');
    await page.getByText('Yes.').waitFor();
    await expect.poll(() => texts(page, '.message'), soon).toEqual(['only once', 'Yes.']);
  });

  test('shows why it was refused, and can be sent again or discarded', async () => {
    const page = await online();
    const ask = web.system.ask.bind(web.system);
    const error = { code: 'RATE_LIMIT_EXCEEDED', message: 'too many messages wait' } as const;
    web.system.ask = async () => ({ kind: 'refused', error });
    await say(page, 'one');
    await page.getByText('Not sent: too many messages wait').waitFor();
    await page.getByRole('button', { name: 'Discard' }).click();
    await expect.poll(() => asked(page).count(), soon).toBe(0);
    await say(page, 'two');
    await page.getByText('Not sent').waitFor();
    web.system.ask = ask;
    await page.getByRole('button', { name: 'Try again' }).click();
    await running();
    expect(await texts(page, '.message.user')).toEqual(['two']);
  });

  test('may have several lines; Enter sends it, except in an input method', async () => {
    const page = await online();
    const field = page.getByRole('textbox', { name: 'Message' });
    await field.fill('one');
    await page.keyboard.press('Shift+Enter');
    await page.keyboard.type('two');
    await field.dispatchEvent('keydown', { key: 'Enter', isComposing: true });
    expect(await asked(page).count()).toBe(0);
    await page.keyboard.press('Enter');
    await running();
    expect(await texts(page, '.message.user')).toEqual(['one\ntwo']);
    expect(await field.inputValue()).toBe('');
  });

  test('is shown as text, like its answer, whatever it contains', async () => {
    const page = await online();
    const evil = '<img src=x onerror="document.title=1"> [x](javascript:alert(1)) <b>b</b>';
    await say(page, evil);
    await running();
    web.system.finish(MAIN, `${evil}\n\n\`\`\`html\n<script>document.title = 2</script>\n\`\`\``);
    await page.locator('.message.agent figure pre').first().waitFor();
    await page.locator('.message.agent figure').waitFor();
    expect(await page.locator('.rich :is(img, b, script, a)').count()).toBe(0);
    expect(await page.locator('.message.user :is(img, b, script)').count()).toBe(0);
    expect(await texts(page, '.message.user')).toEqual([evil]);
    expect(await page.title()).toBe('troupe');
  });
});

describe('the token', () => {
  test('leaves the address bar and stays for this tab only', async () => {
    const page = await online();
    expect(page.url()).toBe(web.gateway.url);
    const other = await page.context().newPage();
    await other.goto(web.gateway.url);
    await other.getByText('needs the token').waitFor();
  });

  test('is requested again when it is wrong, without a retry', async () => {
    const page = await open({}, '#token=wrong');
    await page.getByText('The gateway refused the connection').waitFor();
    await page.getByLabel('Token').fill(TOKEN);
    await page.getByRole('button', { name: 'Connect' }).click();
    await page.getByText('Connected', { exact: true }).waitFor();
    expect(await page.getByLabel('Token').count()).toBe(0);
  });
});

describe('the page', () => {
  test('opened on this machine connects without a token in mode none', async () => {
    await web.gateway.close();
    await web.serve({ auth: { mode: 'none' } });
    const page = await open();
    await page.getByText('Connected', { exact: true }).waitFor();
    expect(await page.getByLabel('Token').count()).toBe(0);
  });

  test('has labels for screen readers', async () => {
    const page = await online();
    await page.getByRole('log', { name: 'Conversation' }).waitFor();
    await page.getByRole('status').getByText('Connected').waitFor();
    await page.getByRole('textbox', { name: 'Message' }).waitFor();
    expect(await page.locator('html').getAttribute('lang')).toBe('en');
  });

  test('is in Vietnamese for a Vietnamese browser', async () => {
    const page = await open({ locale: 'vi-VN' });
    await page.getByText('Đã kết nối').waitFor();
    expect(await page.locator('html').getAttribute('lang')).toBe('vi');
  });

  test.each(['light', 'dark'] as const)('is legible in %s colours', async (colorScheme) => {
    const page = await online({ colorScheme });
    await say(page, 'hello');
    await running();
    web.system.fail(MAIN, { code: 'INTERNAL', message: 'broke' });
    await page.getByText('broke').waitFor();
    const ratios = await page.evaluate(() => {
      const luminance = (color: string) => {
        const [r = 0, g = 0, b = 0] = (color.match(/[\d.]+/g) ?? []).map((part) => {
          const share = Number(part) / 255;
          return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const behind = (element: Element): string => {
        const { backgroundColor } = getComputedStyle(element);
        if (backgroundColor !== 'rgba(0, 0, 0, 0)') return backgroundColor;
        return element.parentElement ? behind(element.parentElement) : 'rgb(255, 255, 255)';
      };
      const shown = '.message.user .plain, .note.failed span, .note.failed, .connection, h1, #hint';
      return [...document.querySelectorAll(shown)].map((element) => {
        const sides = [luminance(getComputedStyle(element).color), luminance(behind(element))];
        return (Math.max(...sides) + 0.05) / (Math.min(...sides) + 0.05);
      });
    });
    expect(ratios.length).toBeGreaterThan(4);
    // WCAG 2.2 AA for text of this size.
    for (const ratio of ratios) expect(ratio).toBeGreaterThanOrEqual(4.5);
  });

  test('fits a phone without horizontal scrolling', async () => {
    const page = await online({ viewport: { width: 390, height: 700 } });
    await say(page, 'x'.repeat(300));
    await running();
    web.system.finish(MAIN, `\`\`\`\n${'long line '.repeat(40)}\n\`\`\``);
    await page.locator('.message.agent figure pre').first().waitFor();
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    expect(wide).toBeLessThanOrEqual(390);
  });
});
