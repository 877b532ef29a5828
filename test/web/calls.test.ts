/** The view of calls: a real program with an MCP server, and an A2A agent that is not called. */
import { expect, test } from 'vitest';
import { linesOf, stdioEntry } from '../agent/mcp/servers-fixture.ts';
import { scratchFolder, write } from '../runtime/config/folder.ts';
import { axeViolations } from './axe.ts';
import { keepScreenshot, openView, startRealProgram } from './real-program.ts';
import { LOOKS, say, useBrowser } from './web-world.ts';

const browser = useBrowser();

const startWithServers = async () => {
  const folder = scratchFolder();
  const data = scratchFolder();
  const gone = { url: 'http://127.0.0.1:9/mcp?key=of-it', allowPrivate: true };
  const weather = { url: 'https://weather.example', about: 'Knows the weather.' };
  const config = {
    mcp: { servers: { test: stdioEntry(folder), gone } },
    tools: { a2a: { agents: { weather } } },
  };
  write(data, 'troupe.json5', JSON.stringify(config));
  return { folder, program: await startRealProgram(data) };
};

test('servers with their tools, and a call with who made it, its run and its conversation', async () => {
  const { folder, program } = await startWithServers();
  const { page, errors } = await openView(browser(), program, 'calls');
  const servers = page.getByRole('region', { name: 'Servers and agents outside' });
  await servers.locator('summary', { hasText: /test.*MCP · 8 tools.*Done/ }).click();
  await servers.getByRole('row', { name: 'echo (only reads) none' }).waitFor();
  await servers.getByRole('row', { name: 'change unless always allowed' }).waitFor();
  await servers.locator('summary', { hasText: /gone.*Failed/ }).click();
  await servers.getByText('http://127.0.0.1:9/mcp (http)').waitFor();
  await servers.locator('summary', { hasText: 'weather' }).click();
  await servers.getByText('Knows the weather.').waitFor();
  expect(await page.content()).not.toMatch(/of-it/);

  await page.evaluate(() => location.assign('#view=chat'));
  await say(page, 'call mcp__test__echo {"text": "hello"}');
  await page.locator('.message.agent[aria-busy=false]').waitFor();
  expect(linesOf(folder, 'calls')).toEqual(['echo']);
  await page.evaluate(() => location.assign('#view=calls'));
  await page.getByRole('link', { name: /echo.*test \(MCP\).*Done/ }).click();
  const details = page.getByRole('complementary', { name: 'Details' });
  await details.getByText('agent:main:main', { exact: true }).waitFor();
  await details.getByText('it is called again', { exact: true }).waitFor();
  for (const { name, ...look } of LOOKS) {
    const other = await openView(browser(), program, 'calls', look);
    await other.page.getByText('8 tools').click();
    expect(await axeViolations(other.page)).toEqual([]);
    await keepScreenshot(other.page, `calls-${name}`);
    await other.page.context().close();
  }
  await details.getByRole('link', { name: 'Show run' }).click();
  await page.getByText('call mcp__test__echo').first().waitFor();
  await page.goBack();
  await details.getByRole('link', { name: 'Open the conversation' }).click();
  await page.locator('.message.agent').waitFor();
  expect(errors).toEqual([]);
}, 120_000);
