/** A cluster as processes on a real NATS server: any order of start, its view, its stop. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { natsServers, startNats } from '../../servers/nats.ts';
import { scratchFolder, write } from '../../runtime/config/folder.ts';
import { eventually } from '../../runtime/eventually.ts';
import { reservePort } from '../../servers/reserve-port.ts';
import { announced, runProgram, type Started, startProgram } from '../program.ts';

const server = natsServers().at(-1);
const leftOut = server ? '' : ' (left out: there is no nats-server here)';

type Ready = { readonly url?: string; readonly node: string; readonly name: string };

/** What a process prints when it is ready. */
const ready = (program: Started) => announced<Ready>(program);

const quick = { TROUPE_OFFLINE_TOKENS_PER_SECOND: '0' };

/** A temporary installation whose cluster has few shards, and how its processes are started. */
async function openCluster(port?: number) {
  const home = scratchFolder();
  write(home, 'troupe.json5', '{ cluster: { shards: 4 } }');
  const natsPort = port ?? (await reservePort());
  const gatewayPort = String(await reservePort());
  const env = {
    ...quick,
    TROUPE_HOME: home,
    TROUPE_NATS_URL: `nats://127.0.0.1:${natsPort}`,
    TROUPE_PORT: gatewayPort,
  };
  return {
    home,
    natsPort,
    startNats: () => {
      const folder = scratchFolder();
      return startNats({ path: server!.path, port: natsPort, folder });
    },
    start: (...args: string[]) => startProgram([...args, '--json'], { home, env }),
    run: (...args: string[]) => runProgram(args, { home, env }),
  };
}

async function openRunning() {
  const cluster = await openCluster();
  const nats = await cluster.startNats();
  onTestFinished(() => nats.stop());
  return { ...cluster, nats };
}

describe.skipIf(!server)(`a cluster as processes${leftOut}`, { timeout: 120_000 }, () => {
  it('starts in any order, NATS last, and answers; health and view agree', async () => {
    const cluster = await openCluster();
    const gateway = cluster.start('gateway', '--name', 'g1');
    const worker = cluster.start('worker', '--name', 'one');
    for (const waiting of [gateway, worker])
      await eventually(() => expect(waiting.stderr).toContain('waiting for NATS at nats://'));
    expect(await cluster.run('health')).toMatchObject({ code: 1 });
    const nats = await cluster.startNats();
    onTestFinished(() => nats.stop());
    expect(await ready(worker)).toMatchObject({ name: 'one', node: expect.stringMatching(/^one/) });
    const { url } = await ready(gateway);
    expect(url).toMatch(/#token=/);
    expect(gateway.stderr.match(/waiting for NATS/g)).toHaveLength(1);

    const answer = await cluster.run('agent', '-m', 'hello', '--run-id', 'r1', '--json');
    expect(JSON.parse(answer.stdout)).toMatchObject({ runId: 'r1', status: 'ok' });
    expect(await cluster.run('health')).toMatchObject({ code: 0, stdout: 'ready\n' });
    expect(await cluster.run('health', '--worker', '--name', 'one')).toMatchObject({ code: 0 });
    expect(await cluster.run('cluster', '--check', 'unknown-node')).toMatchObject({ code: 1 });
    const view = JSON.parse((await cluster.run('cluster', '--json')).stdout) as {
      nodes: { name: string; role: string; shards: number }[];
      shards: { state: string; owner: string; epoch: number }[];
    };
    expect(view.nodes.map(({ name, role, shards }) => [name, role, shards])).toEqual([
      ['g1', 'gateway', 0],
      ['one', 'worker', 4],
    ]);
    expect(view.shards.map(({ state, owner }) => [state, owner])).toEqual(
      Array.from({ length: 4 }, () => ['owned', 'one']),
    );
    for (const { child, ended } of [worker, gateway]) {
      child.kill('SIGTERM');
      expect(await ended).toMatchObject({ code: 0 });
    }
  });

  it('a gateway of a new cluster says that it waits for a worker, and stops meanwhile', async () => {
    const cluster = await openRunning();
    const gateway = cluster.start('gateway');
    await eventually(() => expect(gateway.stderr).toContain('waiting for a worker'));
    gateway.child.kill('SIGTERM');
    expect(await gateway.ended).toMatchObject({ code: 0 });
    expect(gateway.stderr).not.toContain('did not start');
  });

  it('uses the next free name for a second worker of one name and data folder', async () => {
    const cluster = await openRunning();
    const first = await ready(cluster.start('worker', '--name', 'twin'));
    const second = await ready(cluster.start('worker', '--name', 'twin'));
    expect([first.name, second.name]).toEqual(['twin', 'twin-2']);
  });

  it('shows an actor, and watches its turns', async () => {
    const cluster = await openRunning();
    await ready(cluster.start('worker'));
    await ready(cluster.start('gateway'));
    const main = 'default/session/agent:main:main';
    await cluster.run('agent', '-m', 'one');
    const session = { actor: main, status: 'active', machine: expect.stringMatching(/^session@/) };
    const listed = await cluster.run('actors', 'list', '--type', 'session', '--json');
    expect(JSON.parse(listed.stdout)).toMatchObject({ actors: [{ ...session, state: 'idle' }] });
    const shown = await cluster.run('actors', 'show', main, '--json');
    expect(JSON.parse(shown.stdout)).toMatchObject({
      ...session,
      accepts: expect.arrayContaining(['session.receive', 'session.close']),
    });
    const stored = await cluster.run('actors', 'stored', main);
    expect(JSON.parse(stored.stdout)).toMatchObject(session);
    const watch = cluster.start('actors', 'watch', main, '--turns', '12');
    // Messages before the watch has started are not printed.
    await eventually(async () => {
      await cluster.run('agent', '-m', 'two');
      expect(watch.stdout.split('\n').length).toBeGreaterThan(12);
    });
    expect(await watch.ended).toMatchObject({ code: 0 });
    expect(watch.stdout).toContain('"input":"session.receive"');
  });

  it('keeps its agents despite a gateway with another file, until that file is applied', async () => {
    const cluster = await openRunning();
    await ready(cluster.start('worker'));
    await ready(cluster.start('gateway', '--name', 'first', '--port', '0'));
    const file = write(
      cluster.home,
      'other.json5',
      "{ cluster: { shards: 4 }, agents: { agents: [{ id: 'main' }, { id: 'writer' }] } }",
    );
    const second = cluster.start('gateway', '--name', 'second', '--port', '0', '--config', file);
    await ready(second);
    await eventually(() => expect(second.stderr).toContain('troupe config apply'));
    const root = async () =>
      JSON.parse((await cluster.run('actors', 'stored', 'default/root/cluster')).stdout) as {
        context: { agents: { agentId: string }[] };
        value: { placement: string };
      };
    expect((await root()).context.agents.map(({ agentId }) => agentId)).toEqual(['main']);
    const applied = await cluster.run('config', 'apply', '--config', file);
    expect(applied).toMatchObject({ code: 0, stdout: 'the cluster main has 2 agents now\n' });
    expect((await root()).context.agents.map(({ agentId }) => agentId)).toEqual(['main', 'writer']);
  });

  it('shows in the root actor which workers are active, draining and lost', async () => {
    const cluster = await openRunning();
    const workers = ['one', 'two', 'three'].map((name) => cluster.start('worker', '--name', name));
    for (const worker of workers) await ready(worker);
    const root = async () => {
      const shown = await cluster.run('actors', 'stored', 'default/root/cluster');
      const { value, context } = JSON.parse(shown.stdout) as {
        value: { placement: string };
        context: { workers: { name: string; state: string }[] };
      };
      const states = context.workers.map(({ name, state }) => `${name} ${state}`).toSorted();
      return [value.placement, ...states];
    };
    await eventually(async () =>
      expect(await root()).toEqual(['settling', 'one active', 'three active', 'two active']),
    );
    workers[1]?.child.kill('SIGKILL');
    await eventually(async () =>
      expect(await root()).toEqual(['settling', 'one active', 'three active', 'two lost']),
    );
    workers[2]?.child.kill('SIGTERM');
    await eventually(async () =>
      expect(await root()).toEqual(['settling', 'one active', 'two lost']),
    );
    await eventually(async () => expect(await root()).toEqual(['steady', 'one active']));
  });

  it('cordons and drains a worker by its name', async () => {
    const cluster = await openRunning();
    for (const name of ['one', 'two']) await ready(cluster.start('worker', '--name', name));
    await ready(cluster.start('gateway'));
    const view = async () => {
      const { stdout } = await cluster.run('cluster', '--json');
      const { nodes } = JSON.parse(stdout) as {
        nodes: { name: string; shards: number; cordoned?: boolean; draining: boolean }[];
      };
      return Object.fromEntries(nodes.map((node) => [node.name, node]));
    };
    expect(await cluster.run('cluster', 'cordon', 'three')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('there is no worker three: there are one, two'),
    });
    expect(await cluster.run('cluster', 'cordon', 'two')).toMatchObject({
      code: 0,
      stdout: 'two takes no more shards. Undo it: troupe cluster uncordon two\n',
    });
    await eventually(async () => expect((await view())['two']).toMatchObject({ cordoned: true }));
    expect((await cluster.run('cluster')).stdout).toMatch(/^two +cordoned/m);
    expect(await cluster.run('cluster', 'uncordon', 'two')).toMatchObject({ code: 0 });
    await eventually(async () => expect((await view())['two']).toMatchObject({ cordoned: false }));
    expect(await cluster.run('cluster', 'drain', 'one', '--json')).toMatchObject({ code: 0 });
    await eventually(async () =>
      expect(await view()).toMatchObject({
        one: { draining: true, shards: 0 },
        two: { shards: 4 },
      }),
    );
    expect(await cluster.run('cluster', 'drain', 'two')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('no other worker could own the shards of two'),
    });
  });

  it('reading commands do not create a cluster', async () => {
    const cluster = await openRunning();
    for (const command of [['cluster'], ['actors', 'stored'], ['config', 'apply']]) {
      const ended = await cluster.run(...command);
      expect(ended).toMatchObject({ code: 2, stdout: '' });
      expect(ended.stderr).toContain('there is no cluster main');
    }
  });
});

describe('a process of a cluster', () => {
  it('requires the address of NATS', async () => {
    for (const role of ['gateway', 'worker', 'cluster']) {
      const ended = await runProgram([role]);
      expect(ended).toMatchObject({ code: 2, stdout: '' });
      expect(ended.stderr).toContain('use --nats nats://host:port');
    }
  });

  it('can be stopped while it waits for NATS', async () => {
    const port = await reservePort();
    const worker = startProgram(['worker', '--nats', `nats://127.0.0.1:${port}`]);
    await eventually(() => expect(worker.stderr).toContain('waiting for NATS'));
    worker.child.kill('SIGTERM');
    expect(await worker.ended).toMatchObject({ code: 0, stdout: '' });
  });

  it('shows its actors while it runs, and their rows when it is stopped', async () => {
    const home = scratchFolder();
    const env = { ...quick, TROUPE_HOME: home, TROUPE_PORT: '0' };
    const running = startProgram(['start', '--json'], { home, env });
    const { url = '' } = await ready(running);
    const { origin, hash } = new URL(url);
    const gateway = [
      '--url',
      origin.replace('http', 'ws'),
      '--token',
      hash.slice('#token='.length),
    ];
    const actors = [
      expect.objectContaining({ actor: 'default/agent/main', status: 'active' }),
      expect.objectContaining({ actor: 'default/root/cluster' }),
    ];
    const listed = await runProgram(['actors', 'list', ...gateway, '--json'], { home, env });
    expect(JSON.parse(listed.stdout)).toEqual({ actors: expect.arrayContaining(actors) });
    expect(await runProgram(['actors', 'stored'], { home, env })).toMatchObject({ code: 6 });
    running.child.kill('SIGTERM');
    await running.ended;
    const stored = await runProgram(['actors', 'stored', '--json'], { home, env });
    expect(JSON.parse(stored.stdout)).toEqual(expect.arrayContaining(actors));
    const watched = ['actors', 'watch', 'default/root/cluster', ...gateway];
    expect(await runProgram(watched, { home, env })).toMatchObject({ code: 3 });
  });
});
