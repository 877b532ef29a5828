/**
 * kill -9 of the worker of a cluster whose process of an MCP server executes a call: another worker
 * ends the call as its class says. A changing tool is not called again, a reading one is.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { STDIO_SERVER } from '../agent/mcp/servers-fixture.ts';
import { announced, runProgram, type Started, startProgram } from '../cli/program.ts';
import { scratchFolder, write } from '../runtime/config/folder.ts';
import { eventually } from '../runtime/eventually.ts';
import { natsServers, startNats } from '../servers/nats.ts';
import { reservePort } from '../servers/reserve-port.ts';

const nats = natsServers().at(-1);

/** A gateway and two workers, whose agents have the tools of a process without a boundary. */
async function openCluster() {
  const home = scratchFolder();
  const server = await startNats({
    path: nats!.path,
    port: await reservePort(),
    folder: scratchFolder(),
  });
  onTestFinished(() => server.stop());
  const [calls, starts] = [join(home, 'calls'), join(home, 'starts')];
  const stdio = {
    command: process.execPath,
    args: [STDIO_SERVER],
    env: { CALLS: calls, STARTS: starts },
    sandbox: false,
    approval: 'never',
  };
  const config = { cluster: { shards: 4 }, mcp: { servers: { test: stdio } } };
  write(home, 'troupe.json5', JSON.stringify(config));
  const env = {
    TROUPE_OFFLINE_TOKENS_PER_SECOND: '0',
    TROUPE_HOME: home,
    TROUPE_NATS_URL: `nats://127.0.0.1:${server.port}`,
    TROUPE_PORT: String(await reservePort()),
  };
  const start = (...args: string[]) => startProgram([...args, '--json'], { home, env });
  const gateway = start('gateway', '--name', 'g');
  const workers = [start('worker', '--name', 'one'), start('worker', '--name', 'two')];
  await Promise.all([gateway, ...workers].map((program) => announced(program, 60_000)));
  const linesOf = (file: string) => {
    try {
      return readFileSync(file, 'utf8').split('\n').filter(Boolean);
    } catch {
      return [];
    }
  };
  return {
    workers,
    calls: () => linesOf(calls),
    /** the process that was started last */
    pids: () => linesOf(starts),
    lastPid: () => Number(linesOf(starts).at(-1)),
    send: async (runId: string, message: string) => {
      const args = ['agent', '-m', message, '--run-id', runId, '--json'];
      return (await runProgram(args, { home, env })).stdout;
    },
  };
}

const parentOf = (pid: number): number =>
  Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);

/** The worker that started the process, directly or by others. */
function workerOf(workers: readonly Started[], pid: number): Started {
  for (let at = pid; at > 1; at = parentOf(at)) {
    const found = workers.find(({ child }) => child.pid === at);
    if (found) return found;
  }
  throw new Error(`process ${pid} belongs to no worker`);
}

test.skipIf(!nats).each([
  ['hang_once', 'Unknown: ', 1],
  ['hang_reading', 'done', 2],
])(
  'a call of %s ends on another worker',
  async (tool, result, times) => {
    const cluster = await openCluster();
    // The list of the server is read in the background.
    await eventually(async () => {
      const said = await cluster.send(`look-${Math.random()}`, 'call mcp__test__pid {}');
      expect(cluster.pids().some((pid) => said.includes(pid))).toBe(true);
    }, 60_000);
    const running = cluster.send('r1', `call mcp__test__${tool} {}`);
    await eventually(() => expect(cluster.calls()).toEqual([tool]), 30_000);
    const { child, ended } = workerOf(cluster.workers, cluster.lastPid());
    child.kill('SIGKILL');
    await ended;
    expect(await running).toContain(result);
    expect(cluster.calls()).toHaveLength(times);
  },
  180_000,
);
