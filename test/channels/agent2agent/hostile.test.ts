/**
 * Hostile requests of both bindings to the running program: none is answered with a status of 500
 * or above, nothing is logged as an error, and its memory does not grow with them.
 * `TROUPE_HOSTILE_REQUESTS=10000` sends more.
 */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { announced, runProgram, startProgram } from '../../cli/program.ts';
import { scratchFolder, write } from '../../runtime/config/folder.ts';
import { reservePort } from '../../servers/reserve-port.ts';
import { type HostileRequest, hostileRequests } from './hostile.ts';

const COUNT = Number(process.env['TROUPE_HOSTILE_REQUESTS'] ?? 600);
const CONNECTIONS = 16;
/** More than the heap of a process that has warmed up varies by. */
const GROWTH_BYTES_MAX = 256 * 2 ** 20;

const residentBytes = (pid: number): number =>
  1_024 * Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);

test('hostile requests fail alone', { timeout: 900_000 }, async () => {
  const home = scratchFolder();
  write(home, 'troupe.json5', JSON.stringify({ agent2agent: { legacy: true } }));
  const port = await reservePort();
  const env = { TROUPE_HOME: home };
  const program = startProgram(['start', '--json', '--port', String(port)], { home, env });
  await announced(program, 60_000);
  const signed = await runProgram(['token', '--sub', 'ann', '--roles', 'operator'], { home, env });
  const authorization = `Bearer ${signed.stdout.trim()}`;
  const statuses = new Map<number, number>();
  const send = async ({ path, method, headers, body }: HostileRequest): Promise<void> => {
    const response = await fetch(`http://127.0.0.1:${port}/a2a/main${path}`, {
      method,
      headers: { authorization, ...headers },
      ...(body === undefined ? {} : { body }),
      signal: AbortSignal.timeout(60_000),
    });
    await response.text();
    statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
    if (response.status >= 500) throw new Error(`${response.status}: ${method} ${path} ${body}`);
  };
  const sendAll = async (count: number, seed: number): Promise<void> => {
    const requests = hostileRequests(count, seed);
    const worker = async () => {
      for (const request of requests) await send(request);
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, worker));
  };
  await sendAll(Math.ceil(COUNT / 4), 1);
  const before = residentBytes(program.child.pid!);
  await sendAll(COUNT - Math.ceil(COUNT / 4), 2);
  const growth = residentBytes(program.child.pid!) - before;
  expect([...statuses.values()].reduce((sum, one) => sum + one, 0)).toBe(COUNT);
  expect(growth).toBeLessThan(GROWTH_BYTES_MAX);
  expect(program.stdout + program.stderr).not.toMatch(/"level":[56]0/);
  expect(program.child.exitCode).toBeNull();
  console.info(`${COUNT} requests, growth ${Math.round(growth / 2 ** 20)} MiB`, statuses);
});
