/** The page while an agent works: tools, approvals, steering, commands and images. */
import { rmSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Gateway } from '../../channels/index.ts';
import { eventually, gatewayOn, MAIN, TOKEN } from '../channels/gateway/client.ts';
import { FakeSessionSystem } from '../channels/gateway/fake-session-system.ts';
import { buildPage } from './built-page.ts';
import { chromiumPath, NO_CHROMIUM, openChromium } from './chromium.ts';

let browser: Browser | undefined;
let webRoot = '';
let system: FakeSessionSystem;
let gateway: Gateway;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  browser = await openChromium();
  webRoot = await buildPage();
}, 60_000);
afterAll(async () => {
  await browser?.close();
  if (webRoot !== '') rmSync(webRoot, { recursive: true });
});
beforeEach(async (context) => {
  if (chromiumPath === undefined) context.skip(NO_CHROMIUM);
  system = new FakeSessionSystem();
  gateway = await gatewayOn(system, { webRoot });
});
afterEach(async () => {
  if (browser === undefined) return;
  for (const context of browser.contexts()) await context.close();
  await gateway.close();
});

const online = async (): Promise<Page> => {
  const page = await browser!.newPage({ locale: 'en-US' });
  page.setDefaultTimeout(10_000);
  await page.goto(`${gateway.url}#token=${TOKEN}`);
  await page.getByText('Connected', { exact: true }).waitFor();
  return page;
};

const say = async (page: Page, text: string) => {
  await page.getByRole('textbox', { name: 'Message' }).fill(text);
  await page.keyboard.press('Enter');
};

const running = () => eventually(() => system.running(MAIN), 'a run');
const texts = (page: Page, selector: string) => page.locator(selector).allTextContents();

test('a pending command is a card; one decision closes it on every page', async () => {
  const decided: unknown[] = [];
  const table = system.kept.table<object>('approvals');
  const options = ['allow-once', 'allow-always', 'deny'].map((name) => ({ name }));
  const row = {
    id: 'a',
    asked_at: new Date().toISOString(),
    expires_at: new Date().toISOString(),
    by: `default/session/${MAIN}`,
    title: 'main wants to run: rm -r <build>',
    detail: 'in /work',
    options,
    state: 'asked',
  };
  system.others['approval.answer'] = ({ decision }) => {
    decided.push(decision);
    table.set('a', { ...row, state: 'allowed', decision, decided_by: 'operator' });
    return { kind: 'answered', result: {} };
  };
  const page = await online();
  const other = await online();
  await say(page, 'clean up');
  await running();
  const call = { callId: 'c', name: 'exec' };
  system.live(MAIN, {
    stream: 'tool',
    phase: 'start',
    ...call,
    args: { command: 'rm -r <build>' },
  });
  table.set('a', row);
  system.live(MAIN, { stream: 'tool', phase: 'approval', ...call, approvalId: 'a' });
  for (const each of [page, other]) {
    const card = each.getByRole('group', { name: 'Allow this command?' });
    await card.waitFor();
    expect(await card.locator('pre').textContent()).toBe('rm -r <build>');
    expect(await card.getByRole('button').allTextContents()).toEqual([
      'Allow once',
      'Always',
      'Deny',
    ]);
  }
  // A page that is opened later shows the approval as well.
  await other.reload();
  await other.getByRole('button', { name: 'Always' }).click();
  for (const each of [page, other]) await each.locator('.approval').waitFor({ state: 'detached' });
  expect(decided).toEqual(['allow-always']);
});

test('a tool call is a card with short arguments, and its result when unfolded', async () => {
  const page = await online();
  await say(page, 'what is there?');
  await running();
  system.live(MAIN, {
    stream: 'tool',
    phase: 'start',
    callId: 'c',
    name: 'exec',
    args: { command: 'ls' },
  });
  await page.locator('.tool.running', { hasText: 'Using exec…' }).waitFor();
  expect(await texts(page, '.tool code')).toEqual(['ls']);
  system.tool(MAIN, { id: 'c', name: 'exec', args: { command: 'ls' } }, 'a.txt\n<b>b.txt</b>');
  system.finish(MAIN, 'Two files.');
  const card = page.locator('.tool.done details');
  await card.waitFor();
  await page.getByText('Two files.').waitFor();
  expect(await card.locator('pre').isVisible()).toBe(false);
  await card.locator('summary').click();
  expect(await card.locator('pre').textContent()).toBe('a.txt\n<b>b.txt</b>');
  expect(await texts(page, '.tool code')).toEqual(['ls']);
});

test('a message during an answer steers it, and is shown once', async () => {
  const page = await online();
  await say(page, 'count to ten');
  const runId = await running();
  system.say(MAIN, 'One, two');
  await page.getByText('One, two').waitFor();
  await say(page, 'faster');
  await eventually(() => system.kept.queues.get(MAIN)?.[0], 'the second message');
  const { runId: of } = system.kept.queues.get(MAIN)![0]!;
  // As the session does with a message that joined a run: it is stored, and no run follows.
  system.kept.queues.set(MAIN, []);
  system.commit(MAIN, { type: 'user', runId, of, text: 'faster', at: Date.now() });
  system.live(MAIN, { stream: 'steer', of, text: 'faster' });
  await page.getByText('Waiting for its turn').waitFor({ state: 'detached' });
  system.finish(MAIN, 'One, two, ten!');
  await page.locator('.message[aria-busy=true]').waitFor({ state: 'detached' });
  await page.getByText('One, two, ten!').waitFor();
  expect(await texts(page, '.message.user .plain')).toEqual(['count to ten', 'faster']);
  expect(await page.locator('.message.agent').count()).toBe(1);
});

test('the answer of a command is shown separately', async () => {
  const page = await online();
  await say(page, '/help');
  await page.locator('.aside', { hasText: '/compact [instructions]' }).waitFor();
  expect(await texts(page, '.message.user .plain')).toEqual(['/help']);
  expect(await page.locator('.message.agent').count()).toBe(0);
  await page.reload();
  await page.getByText('What shall we do?').waitFor();
});

test('images are picked, can be removed, and are sent with the message', async () => {
  const page = await online();
  const png = Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    'base64',
  );
  const file = (name: string) => ({ name, mimeType: 'image/png', buffer: png });

  await page.locator('input[type=file]').setInputFiles([file('one.png'), file('two.png')]);
  await page.getByRole('button', { name: 'Remove one.png' }).click();
  await say(page, 'what is this?');
  await running();
  const received = system.asked.find(({ event }) => event.type === 'session.receive')?.event;
  expect(received?.['images']).toEqual([{ mimeType: 'image/png', data: png.toString('base64') }]);
  await page.getByText('1 image', { exact: true }).waitFor();
  expect(await page.locator('.images img').count()).toBe(0);
});

test('a running tool shows the end of its output, a failed one its error and duration', async () => {
  const page = await online();
  await say(page, 'build it');
  const runId = await running();
  const call = { callId: 'c', name: 'exec' };
  const args = { command: 'make', cwd: '/work' };
  system.live(MAIN, { stream: 'tool', phase: 'start', ...call, args });
  const lines = Array.from({ length: 9 }, (_, at) => `step ${at}`).join('\n');
  system.live(MAIN, { stream: 'tool', phase: 'update', ...call, delta: lines });
  const card = page.locator('.tool.running');
  await card.locator('.progress', { hasText: 'step 8' }).waitFor();
  expect(await card.locator('.progress').textContent()).not.toContain('step 2');
  await card.locator('summary').click();
  expect(await card.locator('.args pre').textContent()).toBe(JSON.stringify(args, null, 2));

  const at = Date.now();
  const said = { runId, text: '', calls: [{ id: 'c', name: 'exec', args }] };
  system.commit(MAIN, { type: 'assistant', ...said, model: 'm', stop: 'toolUse', at });
  const result = 'make: *** no rule';
  system.commit(MAIN, { type: 'tool', runId, ...call, result, isError: true, at: at + 2_500 });
  system.live(MAIN, { stream: 'tool', phase: 'end', ...call, result, isError: true });
  system.finish(MAIN, 'It failed.');
  const failed = page.locator('.tool.failed');
  await failed.getByText('2.5 s').waitFor();
  // A failed call is unfolded.
  await failed.getByText('make: *** no rule').waitFor();
  await failed.getByText('Error', { exact: true }).waitFor();
});

test('a pending command shows its agent and place, and is decided by keyboard', async () => {
  const decided: unknown[] = [];
  const table = system.kept.table<object>('approvals');
  const row = {
    id: 'k',
    asked_at: new Date().toISOString(),
    expires_at: new Date(Date.now() + 120_000).toISOString(),
    by: `default/session/${MAIN}`,
    title: 'main wants to run: ls',
    detail: '',
    options: ['allow-once', 'deny'].map((name) => ({ name })),
    state: 'asked',
  };
  table.set('k', row);
  system.others['approval.answer'] = ({ decision }) => {
    decided.push(decision);
    table.set('k', { ...row, state: 'denied', decision, decided_by: 'operator' });
    return { kind: 'answered', result: {} };
  };
  const page = await online();
  const card = page.getByRole('group', { name: 'Allow this command?' });
  await card.getByText('Requested by main on gateway').waitFor();
  await card.getByText('2 minutes left').waitFor();
  await page.getByRole('img', { name: 'Waits for you' }).waitFor();
  await page.keyboard.press('Alt+a');
  await page.keyboard.press('n');
  await card.waitFor({ state: 'detached' });
  expect(decided).toEqual(['deny']);
});
