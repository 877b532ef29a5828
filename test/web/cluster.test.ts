/** Every view of the page on a gateway of a cluster: a real NATS server and two workers. */
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { startProgram } from '../cli/program.ts';
import { scratchFolder, write } from '../runtime/config/folder.ts';
import { eventually } from '../runtime/eventually.ts';
import { natsServers, startNats } from '../servers/nats.ts';
import { reservePort } from '../servers/reserve-port.ts';
import { axeViolations } from './axe.ts';
import { keepScreenshot, openView } from './real-program.ts';
import { useBrowser } from './web-world.ts';

const server = natsServers().at(-1);
const browser = useBrowser();
beforeEach((context) => {
  if (server === undefined) context.skip('there is no nats-server here');
});

const SHARDS = 8;
const WORKERS = ['one', 'two'];
/** Each with a text that shows that it has been read. */
const VIEWS = {
  actors: /agent:main:main/,
  runs: /^main:main$/,
  tasks: /No tasks/,
  approvals: /Nothing waits for you/,
  schedules: /No schedules/,
  'dead-letters': /No dead letters/,
  channels: /No accounts of messengers/,
  devices: /No devices/,
  usage: /Tokens today/,
  agents: /offline\/troupe-offline/,
  audit: /connect/,
  cluster: /Every shard is where it should be/,
  settings: /Effective configuration/,
} as const;

/** A gateway and two workers, which own all shards. They end with the test. */
async function startCluster(): Promise<{ readonly port: number }> {
  const home = scratchFolder();
  write(home, 'troupe.json5', `{ cluster: { shards: ${SHARDS} } }`);
  const nats = await startNats({ path: server!.path, folder: scratchFolder() });
  onTestFinished(() => nats.stop());
  const port = await reservePort();
  const env = {
    TROUPE_HOME: home,
    TROUPE_NATS_URL: `nats://127.0.0.1:${nats.port}`,
    TROUPE_OFFLINE_TOKENS_PER_SECOND: '2000',
  };
  const programs = [
    startProgram(['gateway', '--port', String(port), '--token', 'T'], { home, env }),
    ...WORKERS.map((name) => startProgram(['worker', '--name', name], { home, env })),
  ];
  const answers = () => fetch(`http://127.0.0.1:${port}/readyz`).then(({ ok }) => ok);
  const output = () => programs.map(({ stdout, stderr }) => stdout + stderr).join('\n');
  await expect.poll(() => answers().catch(output), { timeout: 60_000 }).toBe(true);
  return { port };
}

test('every view reads a cluster, and a worker is drained where it is shown', async () => {
  const cluster = await startCluster();
  const { page, errors } = await openView(browser(), cluster, '');
  await page.getByRole('textbox', { name: 'Message' }).fill('Hello, who are you?');
  await page.keyboard.press('Enter');
  await page.locator('.message.agent[aria-busy=false]').waitFor();
  for (const [view, text] of Object.entries(VIEWS)) {
    await page.evaluate((hash) => location.assign(hash), `#view=${view}`);
    await page.locator('main').getByText(text).first().waitFor();
    await keepScreenshot(page, `cluster-gateway-${view}`);
    expect({ view, violations: await axeViolations(page) }).toEqual({ view, violations: [] });
  }

  await page.evaluate(() => location.assign('#view=cluster'));
  const processes = page.getByRole('group', { name: 'Processes' });
  const two = processes.getByRole('row').filter({ hasText: 'two' });
  await expect.poll(() => processes.getByRole('row').count()).toBe(1 + 1 + WORKERS.length);
  const shards = page.getByRole('group', { name: 'Shards' });
  const ofTwo = () => shards.getByRole('row').filter({ hasText: 'two' }).count();
  // The worker that starts first owns all shards until they are balanced.
  await expect.poll(ofTwo, { timeout: 60_000 }).toBeGreaterThan(0);
  await two.getByRole('button', { name: 'Drain' }).click();
  await two.getByRole('button', { name: 'Drain' }).click();
  await two.getByText('Draining').waitFor();
  await expect.poll(ofTwo, { timeout: 45_000 }).toBe(0);
  await page
    .getByText(/shard \d+ from two to one$/)
    .first()
    .waitFor();
  await keepScreenshot(page, 'cluster-drained');
  expect(await axeViolations(page)).toEqual([]);

  // The conversation continues on the worker that is left.
  await page.getByRole('link', { name: 'Chat' }).first().click();
  await page.getByRole('textbox', { name: 'Message' }).fill('And what is 6*7?');
  await page.keyboard.press('Enter');
  await eventually(async () => {
    expect(await page.locator('.message.agent[aria-busy=false]').count()).toBe(2);
  });
  expect(errors).toEqual([]);
}, 240_000);
