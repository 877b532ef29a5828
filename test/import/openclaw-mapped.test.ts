/** `troupe import openclaw`: ids in upper case, bindings, and compressed archives. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as zlib from 'node:zlib';
import { expect, it } from 'vitest';
import { announced, runProgram, startProgram } from '../cli/program.ts';
import { scratchFolder, write } from '../runtime/config/folder.ts';

type Line = { id: string; kind: string; target?: string; status: string; detail?: string };
type Report = { items: Line[]; counts: Record<string, number> };
type Zstd = { readonly zstdCompressSync?: (data: Uint8Array) => Buffer };
const { zstdCompressSync: compress } = zlib as Zstd;

const line = (text: string): string =>
  `${JSON.stringify({ type: 'message', id: 'a', parentId: null, message: { role: 'user', content: text } })}\n`;

function installation(): string {
  const state = scratchFolder();
  const sessions = join(state, 'agents', 'Research', 'sessions');
  mkdirSync(sessions, { recursive: true });
  mkdirSync(join(state, 'workspace-Research'));
  write(join(state, 'workspace-Research'), 'SOUL.md', 'A researcher.\n');
  const config = {
    agents: { list: [{ id: 'main' }, { id: 'Research', name: 'R' }, { id: 'research' }] },
    bindings: [
      {
        agentId: 'Research',
        match: { channel: 'slack', peer: { kind: 'channel', id: 'C024BE91L' } },
      },
      { agentId: 'Research', match: { channel: 'signal' } },
    ],
  };
  write(state, 'openclaw.json', JSON.stringify(config));
  const index = {
    'agent:Research:Work': { sessionId: 'old', updatedAt: 1 },
    'agent:research:work': { sessionId: 'new', updatedAt: 2 },
    'agent:Research:slack:channel:c024be91l': { sessionId: 'slack', updatedAt: 3 },
  };
  write(sessions, 'sessions.json', JSON.stringify(index));
  for (const { sessionId } of Object.values(index))
    write(sessions, `${sessionId}.jsonl`, line(`I am ${sessionId}.`));
  const archived = Buffer.from(line('Before the reset.'));
  const name = 'past.jsonl.reset.2026-01-01T00-00-00.000Z.zst';
  writeFileSync(join(sessions, name), compress?.(archived) ?? archived);
  return state;
}

it('maps ids, reports collisions, and writes bindings to the proposal', async () => {
  const [home, state] = [scratchFolder(), installation()];
  const data = join(home, 'data');
  const run = async (...more: string[]) => {
    const args = ['import', 'openclaw', state, '--json', '--data', data, ...more];
    const { stdout, code } = await runProgram(args, { home });
    const report = JSON.parse(stdout) as Report;
    return { report, code, of: (id: string) => report.items.find((item) => item.id === id) };
  };
  const rule = 'bindings[0]: slack, group C024BE91L';
  const planned = await run('--dry-run');
  expect(planned.of(rule)).toMatchObject({
    kind: 'binding',
    status: 'new',
    target: 'agents.routing.slack.groups.C024BE91L',
  });

  const first = await run();
  expect(first.code).toBe(0);
  expect(first.of('Research')).toMatchObject({ target: 'research', status: 'imported' });
  expect(first.of('research')).toMatchObject({ kind: 'agent', status: 'skipped' });
  expect(first.of('research')?.detail).toContain('the same agent as Research');
  expect(first.of('research/SOUL.md')).toMatchObject({ status: 'imported' });
  expect(first.of('agent:research:work')).toMatchObject({ target: 'agent:research:work' });
  expect(first.of('agent:Research:Work')).toMatchObject({
    kind: 'archive',
    detail: expect.stringContaining('agent:research:work has a newer session') as string,
  });
  expect(first.of('agent:Research:slack:channel:c024be91l')).toMatchObject({
    target: 'agent:research:slack:group:C024BE91L',
  });
  const archive = first.of('agent:Research:past past');
  if (compress) expect(archive).toMatchObject({ kind: 'archive', status: 'imported' });
  else {
    expect(archive).toMatchObject({ kind: 'archive', status: 'skipped' });
    expect(archive?.detail).toContain('needs Node 22.15 or newer');
  }
  expect(first.of(rule)).toMatchObject({ status: 'imported' });
  expect(first.of('bindings[1]: signal')).toMatchObject({ kind: 'binding', status: 'skipped' });
  const proposal = readFileSync(join(data, 'imports', 'openclaw-proposal.json5'), 'utf8');
  expect(proposal).toContain('bindings[1]: signal: the channel signal is not built in here');
  expect(proposal).toMatch(/C024BE91L: \{\s+agent: 'research'/);

  const again = await run();
  expect(again.report.counts['imported']).toBeUndefined();
  expect(again.of(rule)).toMatchObject({ status: 'before' });

  const troupe = startProgram(['start', '--port', '0', '--json', '--data', data], { home });
  await announced(troupe, 60_000);
  const show = async (key: string) => {
    const args = ['sessions', 'show', key, '--json', '--data', data];
    return (await runProgram(args, { home })).stdout;
  };
  expect(await show('agent:Research:work')).toContain('I am new.');
  expect(await show('agent:Research:slack:channel:c024be91l')).toContain('I am slack.');
}, 120_000);
