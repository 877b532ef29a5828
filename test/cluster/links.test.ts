/**
 * Links that sandboxed commands create in a workspace: two workers and a gateway of the built
 * program on a real NATS server, commands in real bubblewrap. Each worker has its own copy of the
 * agent's workspace, so files pass from one call to the next through the store.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { probeBubblewrap } from '../../agent/sandbox/bubblewrap.ts';
import { sessionAddress } from '../../actors/index.ts';
import type { GatewayClient } from '../../client/gateway-client.ts';
import { shardOf } from '../../protocols/address.ts';
import { connectTo } from '../kill/conversations.ts';
import { kill, type Program, startGateway, startWorker } from '../kill/program.ts';
import { reservePort } from '../servers/reserve-port.ts';
import { openCluster, type StoredCluster } from '../kill/stored.ts';
import { eventually } from '../runtime/eventually.ts';
import { type NatsServer, natsServers, startNats } from '../servers/nats.ts';

const server = natsServers().at(-1);
const noBubblewrap = await probeBubblewrap();
const noPython = existsSync('/usr/bin/python3') ? undefined : 'there is no /usr/bin/python3';
const missing = server ? (noBubblewrap ?? noPython) : 'there is no nats-server';
const leftOut = missing ? ` (left out: ${missing})` : '';

const CONFIG = {
  cluster: { shards: 8 },
  agents: {
    defaults: { sandbox: { mode: 'always', workspaceAccess: 'rw' } },
    agents: [{ id: 'main', default: true }],
  },
  tools: { exec: { boundary: 'bubblewrap' } },
};

const folder = mkdtempSync(join(tmpdir(), 'troupe-links-'));
const running: Program[] = [];
let nats: NatsServer | undefined;
let stored: StoredCluster;
let client: GatewayClient;

function folderOf(name: string): string {
  const data = join(folder, name);
  mkdirSync(data, { recursive: true });
  writeFileSync(join(data, 'troupe.json5'), JSON.stringify(CONFIG));
  return data;
}

const areShared = () =>
  eventually(() => expect(new Set(stored.owners())).toEqual(new Set(['ann', 'bob'])));

let calls = 0;
/** The result of a call in a session that lives on this worker, as the model repeats it. */
async function call(worker: string, tool: string, args: object): Promise<string> {
  for (;;) {
    const sessionKey = `agent:main:s-${++calls}`;
    const shard = shardOf(sessionAddress('default', sessionKey), stored.shards);
    if (stored.owners()[shard] !== worker) continue;
    const message = `call ${tool} ${JSON.stringify(args)}`;
    const params = { message, sessionKey, idempotencyKey: `call-${calls}` };
    const how = { expectFinal: true, timeoutMs: 0 };
    const { result } = (await client.request('agent', params, how)) as {
      result: { payloads: readonly { text: string }[] };
    };
    return result.payloads.map(({ text }) => text).join('\n');
  }
}

const exec = (worker: string, command: string) => call(worker, 'exec', { command });

beforeAll(async () => {
  if (missing || !server) return;
  nats = await startNats({ path: server.path });
  const { url } = nats;
  running.push(
    ...(await Promise.all(['ann', 'bob'].map((name) => startWorker(folderOf(name), name, url)))),
  );
  const gateway = await startGateway(folderOf('gateway'), await reservePort(), url);
  running.push(gateway);
  client = await connectTo(gateway.url);
  stored = await openCluster(url);
  await areShared();
}, 60_000);

afterAll(async () => {
  client?.close();
  await stored?.close();
  await Promise.all(running.map(kill));
  await nats?.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe.skipIf(missing)(`links of sandboxed commands in a cluster${leftOut}`, () => {
  it('bug: a virtual environment of Python cost all files of its command', async () => {
    const made = await exec('ann', 'python3 -m venv --without-pip v && echo made > made');
    expect(made).toContain('[exit code 0]');
    expect(made).not.toContain('Saved without');
    const used = await exec(
      'bob',
      'cat made; v/bin/python3 -c "import sys; print(sys.prefix, 6 * 7)"',
    );
    expect(used).toContain('made\n/workspace/v 42');
  }, 60_000);

  it('files of a command survive what it leaves beside them, and the result names it', async () => {
    const hostile = [
      'ln -s /etc/passwd passwd',
      'ln -s ../../x up',
      'ln -s /usr/../etc/shadow climbs',
      'mkfifo pipe',
      'mkdir d && echo inside > d/f && mv d e && ln -s /proc/self/root d',
      'ln -s two one; ln -s one two',
      'touch "$(printf \'n\\377\')"',
      'echo kept > kept',
    ].join('\n');
    const left = await exec('ann', hostile);
    for (const path of ['"passwd": it is a link to', '"up"', '"climbs"', '"pipe"', '"d"', '"n'])
      expect(left).toContain(path);
    expect(left).toContain('[exit code 0]');
    const there = await exec('bob', 'cat kept e/f; ls -1; readlink one');
    expect(there).toMatch(/kept\ninside\ne\nkept\nmade\none\ntwo\nv\ntwo/);
    expect(await exec('ann', 'ls -1')).toContain('e\nkept\nmade\none\ntwo\nv');
  }, 60_000);

  it('bug: a path longer than Linux accepts closed the workspace to its worker', async () => {
    const step = "import os; os.mkdir('d' * 200); os.chdir('d' * 200)";
    const left = await exec('ann', `python3 -c "for n in range(60): exec(\\"${step}\\")"`);
    expect(left).toContain('The workspace was not saved');
    expect(await exec('ann', 'cat kept')).toContain('kept');
  }, 60_000);

  it('no tool outside of the sandbox reads or writes behind a saved link', async () => {
    await exec(
      'ann',
      'ln -s /usr/share s; ln -s /usr/bin/env AGENTS.md; ln -s /workspace/kept own',
    );
    for (const [tool, args] of [
      ['read', { path: 'v/bin/python3' }],
      ['read', { path: 's' }],
      ['read', { path: 's/doc' }],
      ['read', { path: 'AGENTS.md' }],
      ['write', { path: 's/troupe-escaped', content: 'x' }],
      ['edit', { path: 'AGENTS.md', edits: [{ oldText: 'a', newText: 'b' }] }],
    ] as const)
      expect(await call('bob', tool, args)).toMatch(/is not in the workspace/);
    expect(existsSync('/usr/share/troupe-escaped')).toBe(false);
    expect(await exec('bob', 'cat own')).toContain('kept');
    const shown = client.request('agents.files.get', { agentId: 'main', name: 'AGENTS.md' });
    await expect(shown).rejects.toThrow('cannot be shown');
  }, 60_000);

  it('a folder that replaces a saved link is written as a folder', async () => {
    await exec('ann', 'ln -s /usr/lib swapped');
    await exec('bob', 'rm swapped && mkdir swapped && echo here > swapped/troupe-swapped');
    expect(await exec('ann', 'cat swapped/troupe-swapped')).toContain('here');
    expect(readdirSync('/usr/lib')).not.toContain('troupe-swapped');
    await exec('ann', 'rm -r swapped && ln -s /usr/lib swapped');
    expect(await exec('bob', 'readlink swapped')).toContain('/usr/lib');
  }, 60_000);
});
