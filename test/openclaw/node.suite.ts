/**
 * Devices as nodes: OpenClaw's node host against troupe, and troupe's own node host used by
 * OpenClaw's command line. Every device here needs an operator's approval.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../runtime/eventually.ts';
import {
  end,
  type Installation,
  installTroupe,
  jsonIn,
  type Running,
  type User,
} from './installation.ts';

const withinMs = 60_000;
let troupe: Installation;
/** uses the command line */
let user: User;
/** owns the device that is a node */
let owner: User;
beforeAll(async () => {
  troupe = await installTroupe('{ gateway: { auth: { allowLocal: false } } }');
  user = troupe.user('ann');
  owner = troupe.user('box');
});
afterAll(() => troupe.stop());

const good = (...args: string[]): Promise<string> => user.good(args);
const json = async (...args: string[]) => jsonIn(await good(...args, '--json'));

type Asked = { readonly requestId: string; readonly displayName?: string };
type Node = { displayName: string; nodeId: string; connected: boolean; commands: string[] };

/** Waits until the pairing of the device with that name is pending. */
const asked = (name: string, ...list: string[]): Promise<Asked> =>
  eventually(async () => {
    const listed = await json(...list);
    const pending: Asked[] = listed.pending ?? listed;
    const one = pending.find(({ displayName }) => displayName === name);
    if (one === undefined)
      throw new Error(`no device ${name} waits for approval: ${JSON.stringify(pending)}`);
    return one;
  }, withinMs);

const nodeNamed = async (name: string): Promise<Node> => {
  const { nodes } = await json('nodes', 'status');
  const one = nodes.find(({ displayName }: Node) => displayName === name);
  if (one === undefined) throw new Error(`no node is called ${name}: ${JSON.stringify(nodes)}`);
  return one;
};

const untilConnected = (name: string, connected: boolean): Promise<Node> =>
  eventually(async () => {
    const one = await nodeNamed(name);
    expect(one.connected).toBe(connected);
    return one;
  }, withinMs);

const which = async (name: string, bin: string) =>
  jsonIn(
    await good(
      'nodes',
      'invoke',
      '--node',
      name,
      '--command',
      'system.which',
      '--params',
      JSON.stringify({ bins: [bin] }),
    ),
  ).payload;

/** `openclaw nodes invoke` does not offer `system.run`; any other client may request it. */
const runOn = (nodeId: string, command: readonly string[], key: string) => {
  const params = { command };
  const invoke = { nodeId, command: 'system.run', params, idempotencyKey: key, timeoutMs: 60_000 };
  return user.run([
    'gateway',
    'call',
    'node.invoke',
    '--timeout',
    '60000',
    '--params',
    JSON.stringify(invoke),
  ]);
};

describe('openclaw node run', () => {
  let node: Running;
  const start = (who = owner, name = 'box') => {
    const args = ['node', 'run', '--host', '127.0.0.1', '--port', String(troupe.port)];
    node = who.start([...args, '--display-name', name]);
  };

  it('connects after openclaw devices approve, and not before', async () => {
    start();
    const { requestId } = await asked('box', 'devices', 'list');
    expect(node.out).not.toMatch(/node host gateway connected/);
    expect(await good('devices', 'list')).toMatch(/Pending \(1\)[^]*box/);
    expect(await good('devices', 'approve', requestId)).toMatch(/approved/i);
    await eventually(() => expect(node.out).toMatch(/node host gateway connected/), withinMs);
    expect(await good('devices', 'list')).toMatch(/Paired \(1\)[^]*box[^]*node/);
  });

  it('executes nothing before openclaw nodes approve has approved its commands', async () => {
    const { requestId } = await asked('box', 'nodes', 'pending');
    const { code } = await user.run([
      'nodes',
      'invoke',
      '--node',
      'box',
      '--command',
      'system.which',
      '--params',
      '{"bins":["ls"]}',
    ]);
    expect(code).not.toBe(0);
    await good('nodes', 'approve', requestId);
    const { commands } = await untilConnected('box', true);
    expect(commands).toEqual(expect.arrayContaining(['system.run', 'system.which']));
    expect(await good('nodes', 'pending')).toMatch(/No pending/);
  });

  it('is described, finds a program, and runs one', async () => {
    expect(await good('nodes', 'describe', '--node', 'box')).toMatch(
      /paired · connected[^]*- system\.which/,
    );
    expect(await which('box', 'ls')).toEqual({ bins: { ls: expect.stringMatching(/\/ls$/) } });
    const { nodeId } = await nodeNamed('box');
    const { code, out } = await runOn(nodeId, ['echo', 'from the box'], 'run-1');
    expect({ code, out }).toMatchObject({ code: 0 });
    expect(jsonIn(out).payload).toMatchObject({ exitCode: 0, stdout: 'from the box\n' });
  });

  it('is renamed for every client', async () => {
    await good('nodes', 'rename', '--node', 'box', '--name', 'the box');
    expect(await which('the box', 'ls')).toMatchObject({ bins: { ls: expect.any(String) } });
    await good('nodes', 'rename', '--node', 'the box', '--name', 'box');
  });

  it('is reported as disconnected, and returns as the same node', async () => {
    end(node.child);
    const { nodeId } = await untilConnected('box', false);
    const { code, out } = await runOn(nodeId, ['true'], 'run-2');
    expect(code).not.toBe(0);
    expect(out).toMatch(/not connected|away|UNAVAILABLE/i);
    start();
    expect((await untilConnected('box', true)).nodeId).toBe(nodeId);
    expect(await which('box', 'ls')).toMatchObject({ bins: { ls: expect.any(String) } });
  });

  it('reconnects by itself after kill -9 of the gateway, with all its approvals', async () => {
    await troupe.restart();
    await untilConnected('box', true);
    expect(await which('box', 'ls')).toMatchObject({ bins: { ls: expect.any(String) } });
    expect(await good('nodes', 'pending')).toMatch(/No pending/);
  });

  it('is refused after its token was revoked and it was removed', async () => {
    const { nodeId } = await nodeNamed('box');
    const rotated = await json('devices', 'rotate', '--device', nodeId, '--role', 'node');
    expect(rotated).toMatchObject({ deviceId: nodeId, role: 'node' });
    await good('devices', 'revoke', '--device', nodeId, '--role', 'node');
    await good('devices', 'remove', nodeId);
    await eventually(async () => {
      const { nodes } = await json('nodes', 'status');
      expect(nodes.map((one: Node) => one.nodeId)).not.toContain(nodeId);
    }, withinMs);
    end(node.child);
  });

  it('is refused after openclaw devices reject', async () => {
    start(troupe.user('stranger'), 'stranger');
    const { requestId } = await asked('stranger', 'devices', 'list');
    await good('devices', 'reject', requestId);
    end(node.child);
    const { paired } = await json('devices', 'list');
    expect(paired).toEqual([]);
  });
});

describe('troupe node run, used by openclaw', () => {
  let nodeId: string;

  it('is approved by the same commands, and found by its name', async () => {
    const url = `ws://127.0.0.1:${troupe.port}`;
    const args = ['node', 'run', '--url', url, '--token', troupe.token];
    troupe.troupe('shed', [...args, '--display-name', 'shed', '--allow', 'echo *']);
    await good('devices', 'approve', (await asked('shed', 'devices', 'list')).requestId);
    await good('nodes', 'approve', (await asked('shed', 'nodes', 'pending')).requestId);
    ({ nodeId } = await untilConnected('shed', true));
    expect(await which('shed', 'ls')).toEqual({ bins: { ls: expect.stringMatching(/\/ls$/) } });
  });

  it('runs without approval a command that its owner allowed', async () => {
    const { out } = await runOn(nodeId, ['echo', 'from the shed'], 'shed-1');
    expect(jsonIn(out).payload).toMatchObject({ exitCode: 0, stdout: 'from the shed\n' });
  });

  it.each([
    ['allow-once', 'runs'],
    ['deny', 'does not run'],
  ])(
    'requests an approval for another command; after openclaw approvals resolve %s it %s',
    async (decision) => {
      const running = runOn(nodeId, ['id', '-u'], `shed-${decision}`);
      const id = await eventually(async () => {
        const { approvals } = await json('approvals', 'pending');
        expect(approvals).toHaveLength(1);
        expect(approvals[0].summary).toMatch(/id -u/);
        return approvals[0].id as string;
      }, withinMs);
      expect(await good('approvals', 'resolve', id, decision)).toMatch(`resolved ${decision}`);
      const { code, out } = await running;
      if (decision === 'deny') {
        expect(code).not.toBe(0);
        expect(out).toMatch(/denied|refused|person|FORBIDDEN/i);
      } else expect(jsonIn(out).payload).toMatchObject({ exitCode: 0 });
      const again = await good('approvals', 'resolve', id, decision);
      expect(again).toMatch(`already resolved (same decision: ${decision})`);
    },
  );
});
