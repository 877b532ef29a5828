/**
 * `node tools/picture-chart.mjs`: makes docs/images/chart.png, the picture of the README. It runs
 * troupe, asks the agent a question, and takes the picture of the page in Chromium while the
 * session answers: its statechart with the active states, why it waits, and its turns.
 *
 * It needs a Chromium (CHROMIUM_PATH, or an installed one).
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { chromium } from 'playwright-core';
import { bundle, ensureBuilt } from './build.mjs';
import { root } from './install.mjs';

const SESSION = 'default/session/agent:main:main';
const SIZE = { width: 1_280, height: 760 };
/** Slow, so that the picture is taken during the answer. */
const WORDS_PER_SECOND = 3;
/** The view of the chart moves to the active state. */
const SETTLE_MS = 2_500;

const home = mkdtempSync(join(tmpdir(), 'troupe-picture-'));
const children = new Set();

function run(args) {
  const env = {
    PATH: process.env.PATH,
    HOME: home,
    NO_COLOR: '1',
    TROUPE_OFFLINE_TOKENS_PER_SECOND: String(WORDS_PER_SECOND),
  };
  const child = spawn(process.execPath, [bundle, ...args], { env, stdio: ['ignore', 'pipe', 2] });
  children.add(child);
  return child;
}

/** The URL of the page with its token. */
async function start() {
  const child = run(['start', '--json', '--port', '0']);
  let text = '';
  for await (const chunk of child.stdout) {
    text += chunk;
    if (text.includes('\n')) return JSON.parse(text.split('\n')[0]).url;
  }
  throw new Error('troupe did not start');
}

async function picture(url, file) {
  const places = [process.env.CHROMIUM_PATH, '/usr/bin/chromium', '/usr/bin/google-chrome'];
  const executablePath = places.find((path) => path && existsSync(path));
  if (!executablePath) throw new Error('no Chromium on this machine: set CHROMIUM_PATH to one');
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  try {
    const page = await browser.newPage({ viewport: SIZE });
    await page.goto(url);
    await page.getByRole('link', { name: 'Actors' }).click();
    run(['agent', '--message', 'help']);
    await page.getByRole('searchbox').fill('session');
    await page.locator(`[role=treeitem]`, { hasText: 'agent:main:main' }).first().click();
    await page.locator('.statechart .state.active[data-state^="running"]').first().waitFor();
    await sleep(SETTLE_MS);
    await page.locator('.statechart .state.active[data-state^="running"]').first().waitFor();
    await page.screenshot({ path: file });
  } finally {
    await browser.close();
  }
}

ensureBuilt();
try {
  const file = join(root, 'docs', 'images', 'chart.png');
  await picture(await start(), file);
  console.log(`${file}: ${SESSION} while it answers`);
} finally {
  for (const child of children) child.kill('SIGKILL');
  rmSync(home, { recursive: true, force: true });
}
