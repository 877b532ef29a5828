/** When a plugin that failed starts again: the rule, and a real plugin under a fast clock. */
import { expect, it, onTestFinished } from 'vitest';
import { openPlugins } from '../../../agent/plugins/open-plugins.ts';
import {
  afterFailure,
  afterStableRun,
  BACKOFF_MS,
  FAILURES_MAX,
  NO_FAILURES,
  OPEN_MS,
  WINDOW_MS,
} from '../../../agent/plugins/restarts.ts';
import { type Clock, systemClock } from '../../../runtime/index.ts';
import { load, scratchFolder, write } from '../../runtime/config/folder.ts';
import { eventually } from '../../runtime/eventually.ts';
import { toolContext } from '../tools/tool-context.ts';
import { codeOf, NONE_TAKEN, toolNamed, writePlugin } from './plugin-folder.ts';

const failures = (times: readonly number[], restarts = NO_FAILURES) => {
  const waits: number[] = [];
  for (const at of times) {
    const next = afterFailure(restarts, at);
    restarts = next.restarts;
    waits.push(next.waitMs);
  }
  return { restarts, waits };
};

it('doubles the wait with each failure, and opens the circuit at the fifth', () => {
  const { restarts, waits } = failures([1, 2, 3, 4, 5]);
  expect(waits).toEqual([BACKOFF_MS, 2 * BACKOFF_MS, 4 * BACKOFF_MS, 8 * BACKOFF_MS, OPEN_MS]);
  expect(restarts.isOpen).toBe(true);
});

it('forgets failures that are older than the window', () => {
  const times = Array.from({ length: 20 }, (_, n) => n * (WINDOW_MS / (FAILURES_MAX - 1)));
  expect(failures(times).restarts.isOpen).toBe(false);
});

it('opens again at the first failure after an open circuit, unless the trial was stable', () => {
  const { restarts } = failures([1, 2, 3, 4, 5]);
  const later = 10 * WINDOW_MS;
  expect(failures([later], restarts).waits).toEqual([OPEN_MS]);
  expect(failures([later], afterStableRun(restarts)).waits).toEqual([BACKOFF_MS]);
});

/** Time passes faster, so that waits of minutes take seconds. */
const fastClock = (factor: number): Clock => ({
  wallMs: () => Math.round(systemClock.monotonicMs() * factor),
  monotonicMs: () => systemClock.monotonicMs() * factor,
  after: (delayMs, call) => systemClock.after(delayMs / factor, call),
});

it('a plugin that always fails stops being started, and starts with its corrected code', async () => {
  const home = scratchFolder();
  const manifest = { tools: [toolNamed('broken')] };
  const folder = writePlugin(home, 'broken', { manifest, code: `throw new Error('at load');` });
  const { config } = load(`{ plugins: { entries: { broken: { enabled: true } } } }`, {
    flags: { data: home },
  });
  const long = 100_000_000;
  const plugins = await openPlugins(config, {
    report: () => {},
    ...NONE_TAKEN,
    clock: fastClock(100),
    times: { startMs: long, beatMs: long, memoryMs: long, stopMs: long },
  });
  onTestFinished(() => plugins.close());
  const row = () => plugins.rows()[0]!;
  plugins.start();
  await eventually(() => expect(row().state).toBe('circuit-open'));
  expect(row()).toMatchObject({
    restarts: 4,
    lastError: { message: 'did not start: at load' },
    nextStartAt: expect.any(Number),
  });
  await expect(plugins.tools[0]!.run({}, toolContext())).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    message: 'the plugin broken failed too often: did not start: at load',
  });
  write(folder, 'src/index.ts', codeOf('broken', `tools: [{ name: 'broken', run: () => 'ok' }]`));
  await plugins.restart('broken');
  expect(row()).toMatchObject({ state: 'running' });
  expect(await plugins.tools[0]!.run({}, toolContext())).toEqual({ text: 'ok' });
  await expect(plugins.restart('absent')).rejects.toMatchObject({ code: 'NOT_FOUND' });
});
