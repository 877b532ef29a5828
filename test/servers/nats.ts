/**
 * A real nats-server with JetStream for tests on 127.0.0.1, with its own port and a folder for its
 * store. It ends with the test process.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reservePort } from './reserve-port.ts';

export { natsServers } from '../../tools/nats.mjs';

export type NatsServer = {
  /** nats://127.0.0.1:port */
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** the store; `startNats` with it and the port starts the same server again */
  readonly folder: string;
  /** Sends a signal. If the signal ends the server, resolves when it has ended. */
  kill(signal: NodeJS.Signals): Promise<void>;
  /** Stops it in order. May be repeated, and called after `kill`. */
  stop(): Promise<void>;
};

export type NatsServerOptions = {
  /** the executable: one of `natsServers()` */
  readonly path: string;
  /** default a new one, removed with the test process */
  readonly folder?: string;
  /** default one that remains reserved when the server ends */
  readonly port?: number;
  /** additional lines of configuration; a `jetstream` block replaces the default one */
  readonly config?: string;
};

const START_MS = 20_000;

const running = new Set<ChildProcess>();
const temporary = new Set<string>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
  for (const folder of temporary) rmSync(folder, { recursive: true, force: true });
});
// vitest ends its workers by a signal, after which there is no 'exit' event
process.once('SIGTERM', () => process.exit());

/**
 * Resolves when the server accepts connections and JetStream is available. @throws Error with the
 * server's output when it exits at once
 */
export const startNats = async (options: NatsServerOptions): Promise<NatsServer> => {
  const folder = options.folder ?? temporaryFolder();
  const { path, config, port: given = await reservePort() } = options;
  const child = spawn(path, ['-c', writeConfig(folder, given, config)], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  running.add(child);
  const log = logOf(child);
  const ended = once(child, 'close').finally(() => running.delete(child));
  const port = await Promise.race([
    portOf(folder, log),
    ended.then(() => Promise.reject(new Error(`nats-server ended at its start:\n${log()}`))),
  ]).catch((error: unknown) => {
    child.kill('SIGKILL');
    throw error;
  });
  const kill = async (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal);
    if (signal !== 'SIGSTOP' && signal !== 'SIGCONT') await ended;
  };
  return {
    url: `nats://127.0.0.1:${port}`,
    port,
    pid: child.pid!,
    folder,
    kill,
    stop: async () => {
      // a stopped process (SIGSTOP) does not receive the other signal
      child.kill('SIGCONT');
      await kill('SIGTERM');
    },
  };
};

const temporaryFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-nats-'));
  temporary.add(folder);
  return folder;
};

/** The server writes its port to a file when it is ready. */
const writeConfig = (folder: string, port: number, config = ''): string => {
  rmSync(portsFolder(folder), { recursive: true, force: true });
  mkdirSync(portsFolder(folder), { recursive: true });
  const jetstream = `jetstream { store_dir: ${JSON.stringify(folder)}, max_file_store: 8GB }`;
  const lines = [
    'host: 127.0.0.1',
    `port: ${port}`,
    `ports_file_dir: ${JSON.stringify(portsFolder(folder))}`,
    ...(/^\s*jetstream\b/m.test(config) ? [] : [jetstream]),
    config,
  ];
  const file = join(folder, 'server.conf');
  writeFileSync(file, lines.join('\n'));
  return file;
};

const portsFolder = (folder: string): string => join(folder, 'ports');

/** The first output of the server: why it cannot start. */
const logOf = (child: ChildProcess): (() => string) => {
  let text = '';
  // read until it exits; a full pipe would block the server
  child.stderr!.setEncoding('utf8').on('data', (part: string) => {
    text = (text + part).slice(0, 20_000);
  });
  return () => text;
};

const portOf = async (folder: string, log: () => string): Promise<number> => {
  for (const deadline = performance.now() + START_MS; performance.now() < deadline; ) {
    const [file] = readdirSync(portsFolder(folder));
    const port = file && /:(\d+)"/.exec(readFileSync(join(portsFolder(folder), file), 'utf8'))?.[1];
    if (port) return Number(port);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error(`nats-server was not ready within ${START_MS} ms:\n${log()}`);
};
