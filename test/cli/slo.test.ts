/** `troupe slo` as a process, against real tasks behind real HTTP. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { bytesOf, envelope } from '../channels/edge/real-tasks.ts';
import {
  type ObservedServer,
  openObservedServer,
  SECRET,
} from '../channels/http/observed-server.ts';
import { runProgram } from './program.ts';

let server: ObservedServer;
beforeEach(async () => {
  server = await openObservedServer();
  await fetch(`${server.url}/v1/envelopes`, {
    method: 'POST',
    body: new Uint8Array(bytesOf(envelope())),
    headers: { authorization: 'Bearer alice', 'content-type': 'application/json' },
  });
});
afterEach(() => server.stop());

const slo = (...args: string[]) =>
  runProgram(['slo', ...args, '--url', server.url.replace('http:', 'ws:'), '--token', SECRET]);

it('prints each objective with its target, its measured value and whether it is met', async () => {
  const { code, stdout } = await slo();
  expect(code).toBe(0);
  expect(stdout).toMatch(/^1 tasks of acme in 24 h\nOBJECTIVE +TARGET +MEASURED/);
  expect(stdout).toMatch(/ack_p95 +<= 1000 ms +[\d.]+ ms +1 +yes/);
  expect(stdout).toMatch(/dead_letters +<= 0\.100 % +0\.000 % +1 +yes/);
});

it('exits with 1 when one is missed, also with JSON', async () => {
  for (let n = 0; n < 20; n++)
    server.metrics.request({ status: 'ACKED', latencyMs: 5_000, ackMs: 5_000 });
  const { code, stdout } = await slo('--json', '--hours', '1');
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({ hours: 1, kept: false });
});

it('exits with 2 for invalid arguments', async () => {
  expect(await slo('--hours', '100')).toMatchObject({ code: 2 });
});
