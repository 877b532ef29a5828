/**
 * A clock that was far ahead, or is set back while troupe runs or is stopped, delays nothing (I6).
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { address } from '../../../protocols/address.ts';
import { MemoryBlobs } from '../../../runtime/blobs/memory.ts';
import { InProcessBus } from '../../../runtime/bus/in-process.ts';
import { type Clock, systemClock } from '../../../runtime/clock/clock.ts';
import { createSystem } from '../../../runtime/index.ts';
import { openEmbeddedStore } from '../../../runtime/log/embedded-store.ts';
import { shippedActors } from '../../../actors/index.ts';

const DAY_MS = 86_400_000;
const agent = address('default', 'agent', 'main');
const settings = { agentId: 'main', timeoutMs: 1_000, runsMax: 1, tokensPerDay: 0 };
const principal = { sub: 'test', roles: ['operator'] };

let path: string;
let shiftMs = 0;
const clock: Clock = { ...systemClock, wallMs: () => Date.now() + shiftMs };

const open = async () => {
  const store = await openEmbeddedStore({ path, durability: 'process', clock });
  const parts = { store, bus: new InProcessBus(), blobs: new MemoryBlobs(), clock };
  return createSystem({ ...parts, actors: shippedActors(), services: {} });
};
const configure = (system: Awaited<ReturnType<typeof open>>, key: string) =>
  system.ask(agent, { type: 'agent.configure', settings }, { principal, key, timeoutMs: 10_000 });

beforeEach(() => void (path = mkdtempSync(join(tmpdir(), 'troupe-clock-'))));
afterEach(() => {
  shiftMs = 0;
  rmSync(path, { recursive: true, force: true });
});

it('accepts messages after a start with a clock that is a day behind the stored time', async () => {
  shiftMs = DAY_MS;
  const ahead = await open();
  expect(await configure(ahead, 'first')).toMatchObject({ kind: 'answered' });
  await ahead.stop();
  shiftMs = 0;
  const back = await open();
  expect(await configure(back, 'second')).toMatchObject({ kind: 'answered' });
  expect(await configure(back, 'first')).toMatchObject({ kind: 'answered' });
  await back.stop();
});

it('accepts messages when the clock is set back by a day while it runs', async () => {
  shiftMs = DAY_MS;
  const system = await open();
  expect(await configure(system, 'first')).toMatchObject({ kind: 'answered' });
  shiftMs = 0;
  expect(await configure(system, 'second')).toMatchObject({ kind: 'answered' });
  await system.stop();
});
