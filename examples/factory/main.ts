/**
 * Run it with `node tools/run.mjs examples/factory/main.ts`: requests a trip over HTTP, kills
 * troupe between the seat and the room, starts it again, and the trip continues. Then requests a
 * trip to a city without a hotel: the seat is cancelled.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TaskView } from 'troupe/agents';
import { World } from './world.ts';

const folder = mkdtempSync(join(tmpdir(), 'troupe-trip-'));
const world = new World(join(folder, 'bookings.jsonl'));
const count = (what: string) =>
  world.entries().filter((entry) => entry.what === what && world.has(entry.reference)).length;

/** Waits until the condition is true, at most a minute. */
const until = async <T>(look: () => T | Promise<T>): Promise<NonNullable<T>> => {
  for (const end = Date.now() + 60_000; Date.now() < end; await sleep(50)) {
    const seen = await look();
    if (seen) return seen;
  }
  throw new Error('the condition was not met within a minute');
};

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
};
const port = await freePort();
const url = `http://127.0.0.1:${port}/v1`;

/** Resolves when troupe is ready. The hotel's clerk is slow, so that there is time for the kill. */
const start = async (clerkMs: number): Promise<ChildProcess> => {
  const args = ['tools/run.mjs', 'examples/factory/serve.ts', folder, String(port)];
  const child = spawn(process.execPath, args, {
    env: { ...process.env, CLERK_MS: String(clerkMs) },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  await Promise.race([
    once(child.stdout, 'data'),
    once(child, 'exit').then(() => Promise.reject(new Error('troupe did not start'))),
  ]);
  return child;
};

const headers = () => ({
  authorization: `Bearer ${readFileSync(join(folder, 'troupe', 'token'), 'utf8').trim()}`,
  'content-type': 'application/json',
});

let seq = 0;
const ask = async (city: string): Promise<TaskView> => {
  const envelope = {
    version: '1.0',
    request_id: randomUUID(),
    correlation_id: randomUUID(),
    causation_id: null,
    trace_id: randomUUID().replaceAll('-', ''),
    tenant_id: 'default',
    principal: { sub: 'operator', roles: ['operator'] },
    timestamp: new Date().toISOString(),
    ttl_sec: 300,
    idempotency_key: `trip-to-${city}`,
    seq: ++seq,
    action: 'travel.book_trip',
    action_version: '1.0.0',
    payload: { schema_version: '1.0', city },
  };
  const body = JSON.stringify(envelope);
  const response = await fetch(`${url}/envelopes`, { method: 'POST', headers: headers(), body });
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()) as TaskView;
};

const OPEN = new Set(['ACKED', 'RUNNING']);
const ended = (id: string): Promise<TaskView> =>
  until(async () => {
    const response = await fetch(`${url}/tasks/${id}`, { headers: headers() });
    const view = (await response.json()) as TaskView;
    return OPEN.has(view.state) ? undefined : view;
  });

let troupe = await start(60_000);
try {
  const asked = await ask('Lisbon');
  console.log(`a trip to Lisbon is requested: ${asked.state}`);
  await until(() => count('seat') === 1);
  troupe.kill('SIGKILL');
  await once(troupe, 'exit');
  console.log('the seat is booked, the room is not; troupe was killed');

  troupe = await start(0);
  const trip = await ended(asked.task_id);
  console.log(`troupe is back; the trip to Lisbon: ${trip.state}`);
  console.log(`booked: seats ${count('seat')}, rooms ${count('room')}`);

  const lost = await ended((await ask('Atlantis')).task_id);
  console.log(`a trip to Atlantis: ${lost.state}, ${lost.error?.message}`);
  console.log(`booked: seats ${count('seat')}, rooms ${count('room')}`);
} finally {
  troupe.kill('SIGTERM');
  await once(troupe, 'exit');
  rmSync(folder, { recursive: true, force: true });
}
