/** The page while an agent works: tools, approvals, steering, commands and images. */
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { eventually, MAIN } from '../channels/gateway/client.ts';
import { axeViolations } from './axe.ts';
import { openOnline, runningIn, say, useFakeSessions } from './web-world.ts';

const web = useFakeSessions();

const online = () => openOnline(web);

const running = () => runningIn(web);
const texts = (page: Page, selector: string) => page.locator(selector).allTextContents();

test('a pending command is a card; one decision closes it on every page', async () => {
  const decided: unknown[] = [];
  const table = web.system.kept.table<object>('approvals');
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
  web.system.others['approval.answer'] = ({ decision }) => {
    decided.push(decision);
    table.set('a', { ...row, state: 'allowed', decision, decided_by: 'operator' });
    return { kind: 'answered', result: {} };
  };
  const page = await online();
  const other = await online();
  await say(page, 'clean up');
  await running();
  const call = { callId: 'c', name: 'exec' };
  web.system.live(MAIN, {
    stream: 'tool',
    phase: 'start',
    ...call,
    args: { command: 'rm -r <build>' },
  });
  table.set('a', row);
  web.system.live(MAIN, { stream: 'tool', phase: 'approval', ...call, approvalId: 'a' });
  for (const each of [page, other]) {
    const card = each.getByRole('listitem', { name: 'Allow this command?' });
    await card.waitFor();
    expect(await card.locator('pre').textContent()).toBe('rm -r <build>');
    expect(await card.getByRole('button').allTextContents()).toEqual([
      'Allow once',
      'Always',
      'Deny',
    ]);
  }
  expect(await axeViolations(page)).toEqual([]);
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
  web.system.live(MAIN, {
    stream: 'tool',
    phase: 'start',
    callId: 'c',
    name: 'exec',
    args: { command: 'ls' },
  });
  await page.locator('.tool.running', { hasText: 'Using exec…' }).waitFor();
  expect(await texts(page, '.tool code')).toEqual(['ls']);
  web.system.tool(MAIN, { id: 'c', name: 'exec', args: { command: 'ls' } }, 'a.txt\n<b>b.txt</b>');
  web.system.finish(MAIN, 'Two files.');
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
  web.system.say(MAIN, 'One, two');
  await page.getByText('One, two').waitFor();
  await say(page, 'faster');
  await eventually(() => web.system.kept.queues.get(MAIN)?.[0], 'the second message');
  const { runId: of } = web.system.kept.queues.get(MAIN)![0]!;
  // As the session does with a message that joined a run: it is stored, and no run follows.
  web.system.kept.queues.set(MAIN, []);
  web.system.commit(MAIN, { type: 'user', runId, of, text: 'faster', at: Date.now() });
  web.system.live(MAIN, { stream: 'steer', of, text: 'faster' });
  await page.getByText('Waiting for its turn').waitFor({ state: 'detached' });
  web.system.finish(MAIN, 'One, two, ten!');
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

test('images are picked, can be removed, and are sent with a message or alone', async () => {
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
  const received = () => web.system.asked.filter(({ event }) => event.type === 'session.receive');
  const images = [{ mimeType: 'image/png', data: png.toString('base64') }];
  expect(received()[0]?.event).toMatchObject({ text: 'what is this?', images });
  await page.getByText('1 image', { exact: true }).waitFor();
  expect(await page.locator('.images img').count()).toBe(0);

  const send = page.getByRole('button', { name: 'Send' });
  expect(await send.isDisabled()).toBe(true);
  await page.locator('input[type=file]').setInputFiles([file('three.png')]);
  await send.click();
  const alone = await eventually(() => received()[1], 'the image without a text');
  expect(alone.event).toMatchObject({ text: '', images });
});

// Bug: of two images that were pasted one after the other, the second replaced the first, because
// each was added to those that were there before. Likewise a sent image returned.
test('images that are pasted quickly are all kept, and one that was sent does not return', async () => {
  const page = await online();
  const paste = async (...names: readonly string[]) =>
    page.locator('#message').evaluate((field, each) => {
      for (const name of each) {
        const clipboardData = new DataTransfer();
        clipboardData.items.add(new File(['x'], name, { type: 'image/png' }));
        field.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true }));
      }
    }, names);
  await paste('one.png', 'two.png');
  await page.getByRole('button', { name: 'Remove two.png' }).waitFor();
  await page.getByRole('button', { name: 'Remove one.png' }).waitFor();
  await page.locator('#message').evaluate((field) => {
    const clipboardData = new DataTransfer();
    clipboardData.items.add(new File(['x'], 'three.png', { type: 'image/png' }));
    field.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true }));
    field.closest('form')!.requestSubmit();
  });
  await page.getByRole('button', { name: 'Remove three.png' }).waitFor();
  expect(await page.locator('.images li').count()).toBe(1);
}, 60_000);

test('a running tool shows the end of its output, a failed one its error and duration', async () => {
  const page = await online();
  await say(page, 'build it');
  const runId = await running();
  const call = { callId: 'c', name: 'exec' };
  const args = { command: 'make', cwd: '/work' };
  web.system.live(MAIN, { stream: 'tool', phase: 'start', ...call, args });
  const lines = Array.from({ length: 9 }, (_, at) => `step ${at}`).join('\n');
  web.system.live(MAIN, { stream: 'tool', phase: 'update', ...call, delta: lines });
  const card = page.locator('.tool.running');
  await card.locator('.progress', { hasText: 'step 8' }).waitFor();
  expect(await card.locator('.progress').textContent()).not.toContain('step 2');
  await card.locator('summary').click();
  expect(await card.locator('.args pre').textContent()).toBe(JSON.stringify(args, null, 2));

  const at = Date.now();
  const said = { runId, text: '', calls: [{ id: 'c', name: 'exec', args }] };
  web.system.commit(MAIN, { type: 'assistant', ...said, model: 'm', stop: 'toolUse', at });
  const result = 'make: *** no rule';
  web.system.commit(MAIN, { type: 'tool', runId, ...call, result, isError: true, at: at + 2_500 });
  web.system.live(MAIN, { stream: 'tool', phase: 'end', ...call, result, isError: true });
  web.system.finish(MAIN, 'It failed.');
  const failed = page.locator('.tool.failed');
  await failed.getByText('2.5 s').waitFor();
  // A failed call is unfolded.
  await failed.getByText('make: *** no rule').waitFor();
  await failed.getByText('Error', { exact: true }).waitFor();
});

test('a pending command shows its agent and place, and is decided by keyboard', async () => {
  const decided: unknown[] = [];
  const table = web.system.kept.table<object>('approvals');
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
  web.system.others['approval.answer'] = ({ decision }) => {
    decided.push(decision);
    table.set('k', { ...row, state: 'denied', decision, decided_by: 'operator' });
    return { kind: 'answered', result: {} };
  };
  const page = await online();
  const card = page.getByRole('listitem', { name: 'Allow this command?' });
  await card.getByText('Requested by main on gateway').waitFor();
  await card.getByText('2 minutes left').waitFor();
  await page.getByRole('img', { name: 'Waits for you' }).waitFor();
  await page.keyboard.press('Alt+a');
  await page.keyboard.press('n');
  await card.waitFor({ state: 'detached' });
  expect(decided).toEqual(['deny']);
});
