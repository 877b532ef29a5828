/** `troupe import openclaw` from a folder that leads elsewhere, or would change what users have. */
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runProgram } from '../cli/program.ts';
import { scratchFolder, write } from '../runtime/config/folder.ts';

type Report = { items: { id: string; kind: string; status: string }[] };

const line = (text: string): string =>
  `${JSON.stringify({ type: 'message', id: 'a', parentId: 'a', message: { role: 'user', content: text } })}\n`;

it('reads nothing outside the folder, copies no secret, and keeps the text of the user', async () => {
  const [home, state, outside] = [scratchFolder(), scratchFolder(), scratchFolder()];
  write(outside, 'evil.jsonl', line('outside'));
  write(outside, 'notes.md', 'outside');
  const sessions = join(state, 'agents', 'main', 'sessions');
  mkdirSync(sessions, { recursive: true });
  mkdirSync(join(state, 'workspace'));
  symlinkSync(outside, join(state, 'workspace', 'memory'));
  symlinkSync(join(outside, 'evil.jsonl'), join(sessions, 'link.jsonl'));
  const index = {
    'agent:main:link': { sessionId: 'link' },
    'agent:main:up': { sessionId: `../../../../${outside.split('/').at(-1)}/evil` },
    'agent:main:circle': { sessionId: 'circle' },
  };
  write(sessions, 'sessions.json', JSON.stringify(index));
  write(sessions, 'circle.jsonl', line('inside'));
  const fake = { apiKey: 'sk-of-the-test', baseUrl: 'https://me:sk-of-the-test@127.0.0.1/v1' };
  const agents = { list: [{ id: 'main' }, { id: 'more' }, { id: 'third' }, { id: '../up' }] };
  const config = { agents, models: { providers: { fake } }, 'a\nb': 1 };
  write(state, 'openclaw.json', JSON.stringify(config));
  const jobs = ['on', 'off'].map((id) => ({
    id,
    enabled: id === 'on',
    schedule: { kind: 'every', everyMs: 3_600_000 },
    payload: { kind: 'agentTurn', message: 'Make tea.' },
  }));
  mkdirSync(join(state, 'cron'));
  write(join(state, 'cron'), 'jobs.json', JSON.stringify({ jobs }));
  const data = join(home, 'data');
  mkdirSync(data);
  const own = '// my comment\n{}\n';
  write(data, 'troupe.json5', own);

  const args = ['import', 'openclaw', state, '--json', '--enable-schedules', '--data', data];
  const { stdout, stderr, code } = await runProgram(args, { home });
  const { items } = JSON.parse(stdout) as Report;
  const statusOf = (id: string) => items.find((item) => item.id === id)?.status;
  expect(code).toBe(1);
  expect(statusOf('agent:main:link')).toBe('damaged');
  expect(statusOf('agent:main:up')).toBe('damaged');
  expect(statusOf('agent:main:circle')).toBe('imported');
  expect(items.filter(({ id }) => id.includes('notes.md'))).toEqual([]);
  expect(statusOf('off')).toBe('imported');
  const proposal = readFileSync(join(data, 'imports', 'openclaw-proposal.json5'), 'utf8');
  expect(`${proposal}${stdout}${stderr}`).not.toContain('sk-of-the-test');
  expect(proposal).toContain('//   a b: ');
  expect(existsSync(join(data, 'troupe.json5.bak'))).toBe(true);
  expect(readFileSync(join(data, 'troupe.json5.before-openclaw'), 'utf8')).toBe(own);
  expect(stderr).toContain('before-openclaw');
}, 120_000);
