/** The page while the whole program is killed and started again. */
import { rmSync } from 'node:fs';
import { expect, test } from 'vitest';
import { reservePort } from '../servers/reserve-port.ts';
import { type Started, startProgram } from '../cli/program.ts';
import { scratchFolder } from '../runtime/config/folder.ts';
import { chromiumPath, NO_CHROMIUM, openChromium } from './chromium.ts';

test('kill -9 of the server during an answer loses no message and duplicates none', async (context) => {
  if (chromiumPath === undefined) return context.skip(NO_CHROMIUM);
  const home = scratchFolder();
  const port = await reservePort();
  const start = async (): Promise<Started> => {
    const started = startProgram(['start', '--port', String(port), '--token', 'T'], { home });
    const answers = () => fetch(`http://127.0.0.1:${port}/readyz`).then(({ ok }) => ok);
    const ready = () => answers().catch(() => `${started.stdout}${started.stderr}`);
    await expect.poll(ready, { timeout: 20_000 }).toBe(true);
    return started;
  };
  let program = await start();
  const browser = await openChromium();
  try {
    const page = await browser.newPage({ locale: 'en-US' });
    page.setDefaultTimeout(20_000);
    await page.goto(`http://127.0.0.1:${port}/#token=T`);
    await page.locator('.connection.online').waitFor();
    const say = async (text: string) => {
      await page.getByRole('textbox', { name: 'Message' }).fill(text);
      await page.keyboard.press('Enter');
    };
    await say('Hello, who are you?');
    await page.locator('.message.agent .rich p').waitFor();
    program.child.kill('SIGKILL');
    await program.ended;
    await say('And what is 6*7?');
    await page.getByText('Will be sent when the connection is back').waitFor();
    program = await start();
    await page.getByText('Used calculate').waitFor();
    await page.locator('.message[aria-busy=true]').waitFor({ state: 'detached' });
    const asked = () => page.locator('.message.user .plain').allTextContents();
    expect(await asked()).toEqual(['Hello, who are you?', 'And what is 6*7?']);
    const answers = await page.locator('.message.agent .rich').allTextContents();
    await page.reload();
    await page.getByText('Used calculate').waitFor();
    expect(await page.locator('.message.agent .rich').allTextContents()).toEqual(answers);
    expect(await asked()).toEqual(['Hello, who are you?', 'And what is 6*7?']);
  } finally {
    await browser.close();
    program.child.kill('SIGKILL');
    rmSync(home, { recursive: true, force: true });
  }
}, 90_000);
