/** The page against the whole program in one process: real sessions, real store, offline model. */
import { beforeEach, expect, test } from 'vitest';
import { gatewayOn, TOKEN } from '../channels/gateway/client.ts';
import { dataFolder, openRealSystem } from '../channels/gateway/real-system.ts';
import { reservePort } from '../servers/reserve-port.ts';
import { builtPage } from './built-page.ts';
import { chromiumPath, NO_CHROMIUM, openChromium } from './chromium.ts';

beforeEach((context) => {
  if (chromiumPath === undefined) context.skip(NO_CHROMIUM);
});

test('an answer that a restart interrupts continues, and is one answer', async () => {
  const folder = dataFolder();
  const webRoot = builtPage();
  const browser = await openChromium();
  let system = await openRealSystem(folder.path, 30);
  let gateway = await gatewayOn(system, { webRoot, port: await reservePort() });
  try {
    const page = await browser.newPage({ locale: 'en-US' });
    page.setDefaultTimeout(15_000);
    await page.goto(`${gateway.url}#token=${TOKEN}`);
    await page.getByRole('textbox', { name: 'Message' }).fill('Hello, who are you?');
    await page.keyboard.press('Enter');
    await page.locator('.message.agent .rich p').waitFor();
    await page.getByRole('textbox', { name: 'Message' }).fill('And what is 6*7?');
    await page.keyboard.press('Enter');
    await page.getByText('Waiting for its turn').waitFor();

    await gateway.close({ reason: 'restart' });
    await system.stop();
    system = await openRealSystem(folder.path, 200);
    gateway = await gatewayOn(system, { webRoot, port: gateway.port });

    await page.getByText('Used calculate').waitFor();
    await page.locator('.message[aria-busy=true]').waitFor({ state: 'detached' });
    const users = await page.locator('.message.user .plain').allTextContents();
    expect(users).toEqual(['Hello, who are you?', 'And what is 6*7?']);
    const answers = await page.locator('.message.agent .rich').allTextContents();
    expect(answers.at(-1)).toContain('42');
    await page.reload();
    await page.getByText('Used calculate').waitFor();
    expect(await page.locator('.message.agent .rich').allTextContents()).toEqual(answers);
  } finally {
    await browser.close();
    await gateway.close();
    await system.stop();
    folder.remove();
  }
}, 60_000);
