/** One step of a load test: open loop, bounded, and every request accounted for. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import type { GatewayClient } from '../../client/gateway-client.ts';
import { type Ending, StepRecorder } from '../../loadtest/recorder.ts';
import { figures } from '../../loadtest/report/figures.ts';
import { arrivals } from '../../loadtest/schedule.ts';
import { runStep, type Send, type StepOptions } from '../../loadtest/step.ts';
import { Target } from '../../loadtest/target.ts';

const PAUSE_MS = 1_000;

async function stepWith(
  send: Send,
  options: Partial<StepOptions> & { rate: number; seconds: number },
) {
  const { rate, seconds, ...more } = options;
  const recorder = more.recorder ?? new StepRecorder();
  const mix = { work: 1 };
  const took = await runStep({
    schedule: arrivals({ ratePerSecond: rate, seconds, arrival: 'constant', mix, seed: 1 }),
    warmupMs: 0,
    lengthMs: seconds * 1_000,
    workloads: new Map([['work', send]]),
    recorder,
    timeoutMs: 10_000,
    graceMs: 5_000,
    inFlightMax: 1_000,
    signal: new AbortController().signal,
    onMeasured: () => {},
    ...more,
  });
  const { workloads, windows } = recorder.finish(took);
  const { work } = workloads;
  return { work: work!, windows, took };
}

const signalIn = (ms: number) => {
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), ms);
  onTestFinished(() => clearTimeout(timer));
  return stop.signal;
};

it('a pause of the target is part of the latency of every request that was due during it, and of the service time of one', async () => {
  let requests = 0;
  const server = createServer((_, response) => {
    requests += 1;
    void sleep(requests === 20 ? PAUSE_MS : 0).then(() => response.end('{}'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const target = await Target.open({
    url: `ws://127.0.0.1:${port}`,
    connect: async () => ({ close() {} }) as unknown as GatewayClient,
    sockets: 1,
    // one request at a time, so that the others wait in the client
    connections: 1,
  });
  onTestFinished(() => target.close());
  const send: Send = async ({ signal, sent }) => {
    await target.http({ method: 'GET', path: '/', signal, sent });
  };
  const { work, windows } = await stepWith(send, { rate: 50, seconds: 3 });
  expect(work).toMatchObject({ scheduled: 150, succeeded: 150, failed: 0, unfinished: 0 });
  const { latency, service } = figures('work', [work], 3);
  // about 50 of 150 requests were due during the pause
  expect(latency.p90).toBeGreaterThan(PAUSE_MS / 4);
  expect(service.p90).toBeLessThan(latency.p90! / 2);
  expect(service.max).toBeGreaterThanOrEqual(PAUSE_MS * 0.99);
  expect(windows.map((window) => window.workloads['work']?.scheduled)).toEqual([50, 50, 50]);
});

it('requests above the limit in flight fail with a code, and those without an end are unfinished', async () => {
  const never: Send = ({ signal }) =>
    new Promise((_, reject) =>
      signal.addEventListener('abort', () => reject(new Error('cancelled'))),
    );
  const { work } = await stepWith(never, { rate: 20, seconds: 1, inFlightMax: 5, graceMs: 50 });
  expect(work).toMatchObject({
    scheduled: 20,
    succeeded: 0,
    failed: 15,
    unfinished: 5,
    errors: { IN_FLIGHT_LIMIT: 15 },
  });
});

it('a slow request fails with TIMEOUT, a system error with its code', async () => {
  let n = 0;
  const send: Send = async ({ signal }) => {
    n += 1;
    if (n % 2 === 0) throw Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
    await sleep(60_000, undefined, { signal });
  };
  const { work } = await stepWith(send, { rate: 10, seconds: 1, timeoutMs: 100 });
  expect(work).toMatchObject({ failed: 10, errors: { TIMEOUT: 5, ECONNREFUSED: 5 } });
});

it('no request is sent before it is due', async () => {
  const early: number[] = [];
  class Listening extends StepRecorder {
    override scheduled(workload: string, atMs: number) {
      const end = super.scheduled(workload, atMs);
      return (ending: Ending) => {
        if ('serviceMs' in ending && ending.latencyMs < ending.serviceMs)
          early.push(ending.serviceMs - ending.latencyMs);
        end(ending);
      };
    }
  }
  const send: Send = async () => {};
  // distances of fractions of a millisecond, which timers do not have
  await stepWith(send, { rate: 130, seconds: 1, recorder: new Listening() });
  expect(early).toEqual([]);
});

it('warm-up is sent and not recorded', async () => {
  let sent = 0;
  const send: Send = async () => void (sent += 1);
  const { work } = await stepWith(send, { rate: 20, seconds: 2, warmupMs: 1_000 });
  expect(sent).toBe(40);
  expect(work.scheduled).toBe(20);
});

it('a signal ends the step early with what was measured', async () => {
  const send: Send = async () => {};
  const { work, took } = await stepWith(send, { rate: 50, seconds: 60, signal: signalIn(500) });
  expect(took).toBeLessThan(60);
  expect(work.succeeded).toBe(work.scheduled);
  expect(work.scheduled).toBeLessThan(3_000);
});
