/**
 * Restate: its server, and a virtual object `counter` in this process. An ask is a call of the
 * object's handler `add` over HTTP; the server stores the call, sends it to the handler over
 * HTTP/2, stores the handler's journal and the new state, and answers.
 *
 * Configuration: one node with its defaults (24 partitions), and `rocksdb-disable-wal-fsync` for
 * its log, its log server and its metadata, so that a record is written to the file and not synced,
 * as with the others. The calls use `fetch` with connections
 * that stay open. The SDK logs errors only.
 */
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http2';
import { join } from 'node:path';
import { TroupeError } from '../../protocols/errors.ts';
import { loaded, type PeerDriver } from './peer.ts';
import { freePort, startServer } from './server.ts';

type Context = {
  get(name: string): Promise<number | null>;
  set(name: string, value: number): void;
};
type Restate = {
  object(definition: {
    name: string;
    handlers: { add: (context: Context) => Promise<number> };
  }): object;
  createEndpointHandler(options: { services: object[] }): Parameters<typeof createServer>[1] & {};
};

const HOST = '127.0.0.1';
const READY_MS_MAX = 60_000;

export const restate: PeerDriver = {
  name: 'restate',
  needs: { packages: ['@restatedev/restate-sdk', '@restatedev/restate-server'] },
  guarantee: 'a call of a killed process continues, and its state is changed once',
  async start({ folder, data }) {
    if (!('withResolvers' in Promise))
      throw new TroupeError('NOT_FOUND', 'its SDK needs Node 22 or newer');
    // Without it the SDK prints two lines for each call.
    process.env['RESTATE_LOGGING'] = 'ERROR';
    const sdk = loaded<Restate>(folder, '@restatedev/restate-sdk');
    const counter = sdk.object({
      name: 'counter',
      handlers: {
        add: async (context) => {
          const value = ((await context.get('n')) ?? 0) + 1;
          context.set('n', value);
          return value;
        },
      },
    });
    const service = createServer(sdk.createEndpointHandler({ services: [counter] }));
    const servicePort = await freePort();
    await new Promise<void>((resolve) => service.listen(servicePort, HOST, resolve));
    const ports = { node: await freePort(), admin: await freePort(), ingress: await freePort() };
    const config = join(data, 'restate.toml');
    writeFileSync(config, configOf(data, ports));
    const server = await startServer(programIn(folder), ['--config-file', config], ports.ingress);
    await registered(ports.admin, `http://${HOST}:${servicePort}`);
    return {
      server: server.pid,
      add: (at) => call(ports.ingress, at),
      async stop() {
        await server.stop();
        service.close();
      },
    };
  },
};

/** The program of this machine, from the package of its platform. @throws TroupeError NOT_FOUND */
function programIn(folder: string): string {
  loaded<object>(folder, '@restatedev/restate-server/package.json');
  const platform = `restate-server-${process.platform}-${process.arch}`;
  return join(folder, 'node_modules', '@restatedev', platform, 'bin', 'restate-server');
}

type Ports = { readonly node: number; readonly admin: number; readonly ingress: number };

const configOf = (data: string, { node, admin, ingress }: Ports): string => `
base-dir = ${JSON.stringify(join(data, 'restate'))}
node-name = "bench"
listen-mode = "tcp"
bind-ip = "${HOST}"
bind-port = ${node}
advertised-host = "${HOST}"
disable-telemetry = true
log-filter = "error"

[admin]
bind-port = ${admin}

[ingress]
bind-port = ${ingress}

[bifrost.local]
rocksdb-disable-wal-fsync = true

[log-server]
rocksdb-disable-wal-fsync = true

[metadata-server]
rocksdb-disable-wal-fsync = true
`;

/** The server answers with an error until it is ready. */
async function registered(port: number, uri: string): Promise<void> {
  const until = performance.now() + READY_MS_MAX;
  for (;;) {
    const answer = await fetch(`http://${HOST}:${port}/deployments`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ uri }),
    }).catch((error: unknown) => String(error));
    if (typeof answer !== 'string' && answer.ok) return;
    const text = typeof answer === 'string' ? answer : await answer.text();
    if (performance.now() > until)
      throw new TroupeError('UNAVAILABLE', `restate-server does not accept the service: ${text}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

async function call(port: number, counter: number): Promise<number> {
  const answer = await fetch(`http://${HOST}:${port}/counter/${counter}/add`, { method: 'POST' });
  if (!answer.ok) throw new TroupeError('UNAVAILABLE', `restate: ${await answer.text()}`);
  return (await answer.json()) as number;
}
