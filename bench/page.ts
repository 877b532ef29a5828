/**
 * Watches the page in a real browser while the program works, and prints what grows: the heap and
 * the elements of a page that follows a busy actor, the memory of the server, and the frames of a
 * tree with many actors that is scrolled. It judges nothing.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import type { GatewayClient } from '../client/gateway-client.ts';
import { openChromium } from '../test/web/chromium.ts';
import { ensureBuilt, type Program, PROGRAM_TOKEN, startProgram } from './harness/program.ts';
import { percentile } from './harness/statistics.ts';

export type PageWatchOptions = {
  readonly minutes: number;
  readonly actors: number;
  /** seconds between two lines */
  readonly everySec: number;
  readonly print: (line: string) => void;
};

const RUNS_PER_SECOND = 20;
const BUSY_SESSIONS = 20;
const AT_ONCE = 16;
const FRAMES = 600;
const SCROLL_PX = 240;
const MIB = 2 ** 20;

/** @throws Error without Chromium */
export async function watchPage(options: PageWatchOptions): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-page-'));
  ensureBuilt();
  const program = await startProgram(folder);
  const browser = await openChromium();
  try {
    await watch(program, browser, options);
  } finally {
    await browser.close();
    await program.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function watch(program: Program, browser: Browser, options: PageWatchOptions) {
  const { minutes, actors, everySec, print } = options;
  const client = await program.connect();
  await createSessions(client, actors);
  print(`${actors} sessions; ${RUNS_PER_SECOND} runs a second for ${minutes} minutes`);
  const followed = sessionKey(0);
  const page = await opened(browser, program, `actors&item=default/session/${followed}`);
  await page.locator('.turn-list li').first().waitFor();
  const tree = await opened(browser, program, 'actors&type=session');
  await tree.locator('.actor-row').nth(5).waitFor();
  print('  min   page heap  elements   server RSS   server heap   tree frames ms p50/p95/max');
  const load = new Load(client);
  const until = Date.now() + minutes * 60_000;
  for (const begun = Date.now(); ; await sleep(everySec * 1_000)) {
    const minute = ((Date.now() - begun) / 60_000).toFixed(1).padStart(5);
    print(`${minute}  ${await lineOf(page, tree, program)}`);
    if (Date.now() >= until) break;
  }
  print(`${load.end()} runs were accepted`);
  client.close();
}

async function lineOf(page: Page, tree: Page, program: Program): Promise<string> {
  const { heap, elements } = await sizeOf(page);
  const { rss, heap: serverHeap } = await memoryOf(program);
  const frames = await scrolled(tree);
  const [p50, p95, max] = [0.5, 0.95, 1].map((p) => percentile(frames, p).toFixed(1));
  const rows = await tree.locator('.actor-row').count();
  return [
    `${(heap / MIB).toFixed(1)} MiB`.padStart(9),
    String(elements).padStart(9),
    `${(rss / MIB).toFixed(0)} MiB`.padStart(11),
    `${(serverHeap / MIB).toFixed(0)} MiB`.padStart(12),
    `   ${p50}/${p95}/${max} (${rows} rows)`,
  ].join(' ');
}

const sessionKey = (n: number): string => `agent:main:page-${n}`;

const say = (client: GatewayClient, n: number, text: string): Promise<unknown> =>
  client.request('chat.send', {
    sessionKey: sessionKey(n),
    message: text,
    idempotencyKey: crypto.randomUUID(),
  });

async function createSessions(client: GatewayClient, count: number): Promise<void> {
  let next = 0;
  const lane = async () => {
    for (let n = next++; n < count; n = next++) await say(client, n, `echo ${n}`);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
}

/** Runs in a few sessions, the followed one among them. */
class Load {
  readonly #client: GatewayClient;
  readonly #timer: NodeJS.Timeout;
  #count = 0;
  #failed = 0;

  constructor(client: GatewayClient) {
    this.#client = client;
    this.#timer = setInterval(() => this.#say(), 1_000 / RUNS_PER_SECOND);
  }

  #say(): void {
    const n = this.#count++;
    say(this.#client, n % BUSY_SESSIONS, `call calculate {"expression": "${n}+1"}`).catch(() => {
      this.#failed++;
    });
  }

  /** How many were accepted. */
  end(): number {
    clearInterval(this.#timer);
    return this.#count - this.#failed;
  }
}

async function opened(browser: Browser, { port }: Program, view: string): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 1_440, height: 900 } });
  page.setDefaultTimeout(60_000);
  await page.goto(`http://127.0.0.1:${port}/#token=${PROGRAM_TOKEN}&view=${view}`);
  await page.locator('.connection.online').waitFor();
  return page;
}

/** After a collection of garbage. */
async function sizeOf(page: Page): Promise<{ heap: number; elements: number }> {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  await session.send('Performance.enable');
  const { metrics } = await session.send('Performance.getMetrics');
  const valueOf = (wanted: string) => metrics.find(({ name }) => name === wanted)?.value ?? 0;
  await session.detach();
  const elements = await page.evaluate(() => document.querySelectorAll('*').length);
  return { heap: valueOf('JSHeapUsedSize'), elements };
}

async function memoryOf({ pid, port }: Program): Promise<{ rss: number; heap: number }> {
  const [, kib = '0'] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  const headers = { authorization: `Bearer ${PROGRAM_TOKEN}` };
  const response = await fetch(`http://127.0.0.1:${port}/metrics`, { headers });
  const [, bytes = '0'] = /^nodejs_heap_size_used_bytes (\S+)/m.exec(await response.text()) ?? [];
  return { rss: Number(kib) * 1_024, heap: Number(bytes) };
}

/** Times between frames while the tree is scrolled up and down, milliseconds. */
const scrolled = (tree: Page): Promise<number[]> =>
  tree.evaluate(
    async ({ frames, step }) => {
      const box = document.querySelector('.actor-rows')!;
      const times: number[] = [];
      let direction = 1;
      let last = performance.now();
      for (let frame = 0; frame < frames; frame++) {
        const before = box.scrollTop;
        box.scrollTop += direction * step;
        if (box.scrollTop === before) direction = -direction;
        await new Promise(requestAnimationFrame);
        const now = performance.now();
        times.push(now - last);
        last = now;
      }
      return times;
    },
    { frames: FRAMES, step: SCROLL_PX },
  );
