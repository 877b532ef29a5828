/**
 * Three servers of NATS, two workers and a gateway with exactly what the manifests say, as
 * processes: probes pass, pods end within their grace periods, and no accepted message is lost.
 */
import { strict as assert } from 'node:assert';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { bundle, ensureBuilt } from '../../tools/build.mjs';
import { account, connectTo, Conversations, OWN_RUNS } from '../kill/conversations.ts';
import { TOKEN } from '../kill/program.ts';
import { scratchFolder } from '../runtime/config/folder.ts';
import { eventually } from '../runtime/eventually.ts';
import { natsServers } from '../servers/nats.ts';
import { reservePort } from '../servers/reserve-port.ts';
import { plainManifests } from './kubernetes-expand.ts';
import { Pod } from './pods.ts';

const server = natsServers().find(({ version }) => Number(version.split('.')[1]) >= 11);
const leftOut = server ? '' : ' (left out: there is no nats-server 2.11 or newer here)';

const all = [...plainManifests('troupe.yaml'), ...plainManifests('nats.yaml')];
const called = (kind: string, name: string) => {
  const found = all.find((one) => one.kind === kind && one.metadata.name === name);
  assert(found !== undefined, `${kind} ${name}`);
  return found;
};
const filesOf = (name: string) => called('ConfigMap', name)['data'] as Record<string, string>;

/** The Secret of docs/kubernetes.md. */
const secrets = {
  token: TOKEN,
  'cluster-secret': 'a-secret-of-the-cluster-0123',
  'nats-password': 'p-of-nats',
  'nats-route-password': 'r-of-nats',
};

type Ports = { readonly client: number; readonly cluster: number; readonly monitor: number };

async function startNatsPods(folder: string): Promise<{ pods: Pod[]; ports: Ports[] }> {
  const ports: Ports[] = [];
  for (let n = 0; n < 3; n++)
    ports.push({
      client: await reservePort(),
      cluster: await reservePort(),
      monitor: await reservePort(),
    });
  const routes = ports.map(({ cluster }, n): [string, string] => [
    `troupe-nats-${n}.troupe-nats-servers:6222`,
    `127.0.0.1:${cluster}`,
  ]);
  const pods = ports.map((own, n) => {
    const place = join(folder, `nats-${n}`);
    return new Pod(called('StatefulSet', 'troupe-nats'), {
      entrypoint: [server!.path],
      name: `troupe-nats-${n}`,
      folder: place,
      files: filesOf('troupe-nats'),
      secrets,
      replace: [
        ...routes,
        ['port: 4222', `listen: "127.0.0.1:${own.client}"`],
        ['port: 6222', `listen: "127.0.0.1:${own.cluster}"`],
        ['0.0.0.0:8222', `127.0.0.1:${own.monitor}`],
        ['/etc/nats/', `${place}/`],
        ['/run/nats/', `${place}/`],
        ['store_dir: /data', `store_dir: "${place}"`],
      ],
      ports: { monitor: own.monitor, client: own.client },
    });
  });
  await Promise.all(pods.map((pod) => pod.start()));
  return { pods, ports };
}

describe.skipIf(!server)(`pods${leftOut}`, { timeout: 480_000 }, () => {
  it('become ready, hand over at their end, and lose no accepted message', async () => {
    ensureBuilt();
    const folder = scratchFolder();
    const { pods: nats, ports } = await startNatsPods(folder);
    const url = ports.map(({ client }) => `nats://127.0.0.1:${client}`).join(',');
    const startPod = async (component: 'gateway' | 'worker', name: string): Promise<Pod> => {
      const place = join(folder, name);
      const port = await reservePort();
      const pod = new Pod(called('Deployment', `troupe-${component}`), {
        entrypoint: [process.execPath, bundle],
        name,
        folder: place,
        files: filesOf('troupe'),
        secrets,
        replace: [
          ['nats://troupe-nats:4222', url],
          ['/etc/troupe/', `${place}/`],
          ['"/data"', JSON.stringify(join(place, 'data'))],
          ['"lan"', '"loopback"'],
          component === 'gateway'
            ? ['"18789"', `"${port}"`]
            : ['metricsPort: 9464', `metricsPort: ${port}`],
          ...(component === 'gateway' ? [['metricsPort: 9464,', ''] as const] : []),
          // each message has its own run, so that it can be counted
          ['{\n  // Bytes', `{ ${OWN_RUNS},\n  // Bytes`],
        ],
        ports: component === 'gateway' ? { http: port } : { metrics: port },
      });
      await pod.start();
      return pod;
    };
    const [first, second] = await Promise.all([
      startPod('worker', 'troupe-worker-a'),
      startPod('worker', 'troupe-worker-b'),
    ]);
    const gateway = await startPod('gateway', 'troupe-gateway-a');
    const client = await connectTo(`ws://127.0.0.1:${gateway.port}`);
    const sent = new Conversations(1, Math.random);
    const enough = new AbortController();
    const loading = sent.load(client, enough.signal);
    const accepted = (count: number) =>
      eventually(() =>
        expect(sent.sent.filter((one) => one.accepted).length).toBeGreaterThan(count),
      );
    await accepted(5);

    // a rolling update: the new pod first, and then the end of an old one
    const third = await startPod('worker', 'troupe-worker-c');
    expect(await first.terminate()).toEqual({ code: 0, killed: false });
    const before = sent.sent.length;
    await accepted(before + 5);
    // a machine of NATS is drained
    expect(await nats[0]!.terminate()).toMatchObject({ killed: false });
    enough.abort();
    await loading;
    await sent.repeatUnanswered(client);
    await account(client, sent.sent);

    client.close();
    const next = await startPod('gateway', 'troupe-gateway-b');
    expect(await gateway.terminate()).toEqual({ code: 0, killed: false });
    const again = await connectTo(`ws://127.0.0.1:${next.port}`);
    await account(again, sent.sent);
    again.close();
    for (const pod of [next, second, third]) {
      expect(pod.livenessFailures).toBe(0);
      expect(await pod.terminate()).toEqual({ code: 0, killed: false });
    }
    for (const end of await Promise.all(nats.slice(1).map((pod) => pod.terminate())))
      expect(end).toMatchObject({ killed: false });
  });
});
