/**
 * How long an agent needs to find the newest sessions among very many, and how long it blocks all
 * other turns. The rows are in a store as session actors write them. The whole tool is measured:
 * all rows are read and checked, and the newest 50 are decoded and printed.
 */
import type { Address } from '../protocols/address.ts';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { createModelCatalog } from '../agent/models/catalog.ts';
import { NO_SECRETS } from '../agent/tools/secret-mask.ts';
import { sessionsListTool } from '../agent/tools/sessions/sessions-list.ts';
import type { ToolContext } from '../agent/tools/tool.ts';
import { talkRulesOf } from '../installation/talk-rules.ts';
import { decode, encode } from '../protocols/codec.ts';
import { loadConfig } from '../runtime/config/index.ts';
import { openEmbedded, systemClock } from '../runtime/index.ts';
import { createIndex } from '../runtime/reads.ts';
import type { State } from '../runtime/state/state.ts';
import { openRaw } from './harness/raw.ts';
import { defineScenario } from './harness/scenario.ts';
import { fillSessions, sessionRowOf } from './harness/session-rows.ts';
import { median, percentile } from './harness/statistics.ts';
import { SHARDS } from './harness/system.ts';

export const sessionsList = defineScenario({
  name: 'sessions',
  question: 'how long does an agent take to find the newest of very many sessions?',
  secondsMax: 120,
  figures: {
    listMs: { label: 'newest 50 of 10,000 sessions', unit: 'ms', limit: 'rangeMs' },
    listP99Ms: { label: '  p99', unit: 'ms', limit: 'rangeMs' },
    cpuMs: { label: '  processor time of it, all threads', unit: 'ms', limit: 'rangeMs' },
    rangeMs: { label: '  limit: LMDB range of as many rows', unit: 'ms' },
    decodedMs: { label: '  to decode them all', unit: 'ms' },
    manyMs: { label: 'newest 50 of 100,000', unit: 'ms', limit: 'manyRangeMs' },
    manyRangeMs: { label: '  limit: LMDB range of as many rows', unit: 'ms' },
    pauseMs: { label: '  longest time without a turn for others', unit: 'ms' },
  },
  async measure({ folder, pick }) {
    const some = await listed(join(folder, 'some'), pick(10_000, 10_000, 100), pick(60, 20, 2));
    const many = await listed(join(folder, 'many'), pick(100_000, 100_000, 200), pick(10, 4, 2));
    return {
      listMs: median(some.samples),
      listP99Ms: percentile(some.samples, 0.99),
      cpuMs: some.cpuMs,
      rangeMs: some.rangeMs,
      decodedMs: some.decodedMs,
      manyMs: median(many.samples),
      manyRangeMs: many.rangeMs,
      pauseMs: many.pauseMs,
    };
  },
});

/** Stores this number of sessions and lists them this number of times. */
async function listed(folder: string, count: number, times: number) {
  const { store } = await openEmbedded({ path: join(folder, 'store') });
  await fillSessions(store.state, count);
  const context = contextOn(store.state);
  const list = async () => {
    const begun = performance.now();
    const { text } = await sessionsListTool.run({}, context);
    const taken = performance.now() - begun;
    const { count: shown, more } = JSON.parse(text) as { count: number; more: number };
    if (shown + more !== count) throw new Error(`${shown} and ${more} sessions of ${count}`);
    return taken;
  };
  // Before the measurement: as in a process that has listed before.
  for (let warm = 0; warm < Math.min(times, 5); warm++) await list();
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const samples: number[] = [];
  const before = process.cpuUsage();
  for (let at = 0; at < times; at++) samples.push(await list());
  const { user, system } = process.cpuUsage(before);
  delay.disable();
  await store.close();
  const cpuMs = (user + system) / 1_000 / times;
  return { samples, cpuMs, pauseMs: delay.max / 1e6, ...(await raw(folder, count)) };
}

/** An agent that may see all sessions: every row is checked and counted. */
function contextOn(state: State): ToolContext {
  const config = loadConfig({ env: {}, flags: {} }).config;
  const index = createIndex(state, SHARDS);
  const unused = () => Promise.reject(new Error('the list needs no actor'));
  return {
    signal: new AbortController().signal,
    idempotencyKey: 'bench',
    now: Date.now(),
    tenant: 'default',
    agentId: 'agent-0',
    sessionKey: 'agent:agent-0:main',
    runId: 'bench',
    callId: 'bench',
    models: createModelCatalog({ providers: {} }, { clock: systemClock }),
    confinement: { sandboxed: false, workspaceAccess: 'rw' },
    workspace: unused,
    workspaceOf: 'default/agent/agent-0' as Address,
    update: () => {},
    system: {
      ask: unused,
      index: async () => index,
      transcript: () => ({ read: unused, last: unused }),
    },
    talk: { ...talkRulesOf(config), enabled: true },
    installed: [],
    env: {},
    secrets: NO_SECRETS,
  };
}

/** LMDB alone: as many rows of that size in one range, and the same with all of them decoded. */
async function raw(folder: string, count: number) {
  const rows = openRaw(join(folder, 'raw'));
  await rows.batch(() => {
    for (let n = 0; n < count; n++) {
      const row = sessionRowOf(n, count);
      void rows.put(Buffer.from(row.sessionKey), encode(row));
    }
  });
  const timed = (look: (bytes: Uint8Array) => unknown): number => {
    const samples = Array.from({ length: 9 }, () => {
      const begun = performance.now();
      for (const { value } of rows.getRange({})) look(value);
      return performance.now() - begun;
    });
    return median(samples);
  };
  const rangeMs = timed((bytes) => bytes.length);
  const decodedMs = timed(decode);
  await rows.close();
  return { rangeMs, decodedMs };
}
