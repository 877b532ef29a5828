/** The page with several conversations, on real sessions: list, drafts, keyboard, styles. */
import type { BrowserContextOptions, Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { TOKEN } from '../channels/gateway/client.ts';
import { contrastsOf } from './contrast.ts';
import { say, useRealSessions } from './web-world.ts';

const web = useRealSessions();

const open = async (options: BrowserContextOptions = {}): Promise<Page> => {
  const context = await web.browser.newContext({
    locale: 'en-US',
    viewport: { width: 1_280, height: 800 },
    ...options,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(10_000);
  await page.goto(`${web.gateway.url}#token=${TOKEN}`);
  await page.locator('.connection.online').waitFor();
  return page;
};

const field = (page: Page) => page.getByRole('textbox', { name: 'Message' });
const answered = (page: Page, count = 1) =>
  expect
    .poll(() => page.locator('.message.agent[aria-busy=false]').count(), { timeout: 10_000 })
    .toBe(count);
const list = (page: Page) => page.getByRole('navigation', { name: 'Conversations' });
const titles = (page: Page) => list(page).locator('.session b').allTextContents();
const asked = (page: Page) => page.locator('.message.user .plain').allTextContents();
const soon = { timeout: 10_000 };

describe('the list of conversations', () => {
  test('creates conversations, switches between them, and keeps the draft of each', async () => {
    const page = await open();
    await say(page, 'first words');
    await answered(page);
    await page.getByRole('button', { name: 'New conversation' }).click();
    await expect.poll(() => asked(page), soon).toEqual([]);
    await say(page, 'second words');
    await answered(page);
    await expect.poll(async () => (await titles(page)).length, soon).toBe(2);
    await field(page).fill('half a thou');

    await page.keyboard.press('Alt+ArrowDown');
    await expect.poll(() => asked(page), soon).toEqual(['first words']);
    expect(await field(page).inputValue()).toBe('');
    expect(new URL(page.url()).hash).toBe('');
    await page.goBack();
    await expect.poll(() => asked(page), soon).toEqual(['second words']);
    expect(await field(page).inputValue()).toBe('half a thou');
    // Also after the page was closed.
    await page.reload();
    await expect.poll(() => field(page).inputValue(), soon).toBe('half a thou');
  });

  test('renames, searches and deletes, and confirms a deletion', async () => {
    const page = await open();
    await say(page, 'apples');
    await answered(page);
    await page.getByRole('button', { name: 'New conversation' }).click();
    await say(page, 'pears');
    await answered(page);
    await expect.poll(async () => (await titles(page)).length, soon).toBe(2);

    const row = list(page).locator('.session.open');
    await row.hover();
    await row.getByRole('button', { name: /^Rename/ }).click();
    await list(page)
      .getByRole('textbox', { name: /^Rename/ })
      .fill('Fruit of autumn');
    await page.keyboard.press('Enter');
    await list(page).getByText('Fruit of autumn').waitFor();
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Fruit of autumn');

    await page.keyboard.press('Control+k');
    await page.keyboard.type('autumn');
    await expect.poll(() => titles(page), soon).toEqual(['Fruit of autumn']);
    await page.getByRole('searchbox').fill('');
    await expect.poll(async () => (await titles(page)).length, soon).toBe(2);

    await row.hover();
    await row.getByRole('button', { name: /^Delete/ }).click();
    const question = page.getByRole('alertdialog', { name: 'Delete “Fruit of autumn”?' });
    await question.getByRole('button', { name: 'Keep' }).click();
    await row.hover();
    await row.getByRole('button', { name: /^Delete/ }).click();
    await question.getByRole('button', { name: 'Delete' }).click();
    await expect.poll(() => asked(page), soon).toEqual(['apples']);
    await expect.poll(async () => (await titles(page)).length, soon).toBe(1);
  });

  test('lists the agents, and marks unread and open conversations', async () => {
    const page = await open();
    const other = await open();
    await say(page, 'hello');
    await answered(page);
    await other.getByRole('combobox', { name: 'Agent to talk to' }).selectOption('second');
    await other.getByRole('button', { name: 'New conversation' }).click();
    await say(other, 'to the second');
    await answered(other);
    const unread = list(page).locator('.session.unread');
    await unread.getByText('second · ').waitFor();
    await unread.getByRole('img', { name: 'New messages' }).waitFor();
    await unread.getByRole('link').click();
    await expect.poll(() => asked(page), soon).toEqual(['to the second']);
    await unread.waitFor({ state: 'detached' });
    expect(await list(page).locator('[aria-current=page]').count()).toBe(1);
  });
});

describe('a message', () => {
  test('is sent while another conversation is open, also by a new page', async () => {
    const page = await open();
    await page.getByRole('button', { name: 'New conversation' }).click();
    const { hash } = new URL(page.url());
    const { port } = web.gateway;
    await web.gateway.close();
    await say(page, 'kept through it all');
    await page.getByText('Will be sent when the connection is back').waitFor();
    const context = page.context();
    await page.close();
    await web.serve({ port });

    const later = await context.newPage();
    await later.goto(`${web.gateway.url}#token=${TOKEN}`);
    await list(later).getByText('kept through it all').first().waitFor();
    await later.goto(`${web.gateway.url}${hash}`);
    await expect.poll(() => asked(later), soon).toEqual(['kept through it all']);
    await answered(later);
  });

  test('accepts dropped and pasted images, and shows why other files are refused', async () => {
    const page = await open();
    const give = (kind: 'drop' | 'paste', name: string, type: string, bytes: number) =>
      page.evaluate(
        (file) => {
          const data = new DataTransfer();
          const content = new Uint8Array(file.bytes);
          data.items.add(new File([content], file.name, { type: file.type }));
          const target = document.querySelector('#message')!;
          const event =
            file.kind === 'drop'
              ? new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true })
              : new ClipboardEvent('paste', { clipboardData: data, bubbles: true });
          target.dispatchEvent(event);
        },
        { kind, name, type, bytes },
      );
    await give('drop', 'a.png', 'image/png', 10);
    await page.locator('.images img[alt="a.png"]').waitFor();
    await give('paste', 'b.webp', 'image/webp', 10);
    await page.locator('.images img[alt="b.webp"]').waitFor();
    await page.getByText('Up to 8 images, 1 MB each, 2.75 MB together').waitFor();
    await give('drop', 'notes.pdf', 'application/pdf', 10);
    await page.getByText('notes.pdf was not added: only PNG, JPEG, GIF and WebP').waitFor();
    await give('drop', 'huge.png', 'image/png', 2_000_000);
    await page
      .getByText('huge.png was not added: it has 1.91 MB, the limit of an image is 1 MB')
      .waitFor();
    expect(await page.locator('.images img').count()).toBe(2);
  });
});

describe('the keyboard', () => {
  test('reaches everything, and ? lists its shortcuts', async () => {
    const page = await open();
    await page.locator('h1').click();
    await page.keyboard.press('?');
    const help = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
    await help.getByText('New conversation').waitFor();
    await page.keyboard.press('Escape');
    await help.waitFor({ state: 'detached' });
    // In a text field it is a question mark.
    await field(page).focus();
    await page.keyboard.type('?');
    expect(await field(page).inputValue()).toBe('?');
    const seen = new Set<string>();
    for (let step = 0; step < 40; step++) {
      await page.keyboard.press('Tab');
      const focus = await page.evaluate(() => {
        const element = document.activeElement as HTMLElement;
        const { outlineStyle } = getComputedStyle(element);
        const name = element.getAttribute('aria-label') ?? element.textContent ?? '';
        const framed = element.closest('.field, .pick-file') !== null;
        const shown = framed || outlineStyle !== 'none' || element === document.body;
        return { name: name.trim(), shown };
      });
      seen.add(focus.name);
      if (!focus.shown) throw new Error(`no outline shows that "${focus.name}" has the focus`);
    }
    for (const name of ['Conversations', 'Keyboard shortcuts', 'Search conversations', 'Send'])
      expect([...seen]).toContain(name);
  });

  test('stops an answer by Escape, which can be requested again', async () => {
    await web.restart(5);
    const page = await open();
    await say(page, 'Hello, who are you?');
    await page.locator('.message.agent .rich p').waitFor();
    await page.keyboard.press('Escape');
    await page.getByText('Stopped').waitFor();
    await page.getByRole('button', { name: 'Ask again' }).click();
    await expect
      .poll(() => asked(page), soon)
      .toEqual(['Hello, who are you?', 'Hello, who are you?']);
  });
});

describe('the styles', () => {
  test.each(['light', 'dark'] as const)(
    'are legible when the user selects %s, whatever the system setting',
    async (theme) => {
      const page = await open({ colorScheme: theme === 'light' ? 'dark' : 'light' });
      await say(page, 'what is 6*7?');
      await page.locator('.tool.done').waitFor();
      await answered(page);
      const presses = theme === 'light' ? 1 : 2;
      for (let press = 0; press < presses; press++) await page.locator('.theme').click();
      await page.reload();
      await page.locator('.tool.done').waitFor();
      expect(await page.evaluate(() => getComputedStyle(document.body).colorScheme)).toBe(theme);
      const shown =
        'h1, .connection, .message .plain, .rich p, .tool summary, .session b, .session small, ' +
        '.new-session button, #hint, .send, .took';
      // WCAG 2.2 AA for text of this size; disabled elements are exempt.
      const contrasts = await contrastsOf(page, shown);
      expect(contrasts.length).toBeGreaterThan(8);
      expect(contrasts.filter(({ ratio }) => ratio < 4.5)).toEqual([]);
    },
  );

  test('fit 360 px without horizontal scrolling, with the list over the page', async () => {
    const page = await open({ viewport: { width: 360, height: 640 } });
    await say(page, `what is 6*7? ${'x'.repeat(200)}`);
    await answered(page);
    const wide = () => page.evaluate(() => document.documentElement.scrollWidth);
    expect(await wide()).toBeLessThanOrEqual(360);
    expect(await list(page).isVisible()).toBe(false);
    await page.getByRole('button', { name: 'Conversations' }).click();
    await list(page).getByRole('link').first().waitFor();
    expect(await wide()).toBeLessThanOrEqual(360);
    await page.getByRole('button', { name: 'New conversation' }).click();
    await list(page).waitFor({ state: 'hidden' });
    const picture = await page.screenshot();
    expect(picture.readUInt32BE(16)).toBe(360);
  });
});
