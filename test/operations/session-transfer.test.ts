/**
 * Exports and imports of sessions as files, by the commands. A bug here loses a conversation, or
 * shows a model another one than its user had.
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { sessionAddress } from '../../actors/index.ts';
import { TOKEN } from '../channels/gateway/client.ts';
import { runProgram } from '../cli/program.ts';
import { install, type Installation } from '../agent-runs/installation.ts';
import { eventually } from '../runtime/eventually.ts';
import { scratchFolder } from '../runtime/config/folder.ts';
import { operatorOf } from './operator.ts';

const MAIN = 'agent:main:main';
const TOPIC = 'agent:main:telegram:group:-100:topic:7';

const sessionsOf = (troupe: Installation) => {
  const at = ['--url', troupe.url.replace('http', 'ws'), '--token', TOKEN];
  return (...args: string[]) => runProgram(['sessions', ...args, ...at]);
};

const exported = async (troupe: Installation, ...keys: string[]): Promise<string> => {
  const folder = join(scratchFolder(), 'exported');
  const ended = await sessionsOf(troupe)('export', ...keys, '--out', folder);
  expect(ended).toMatchObject({ code: 0 });
  return folder;
};

const filesIn = (folder: string) =>
  Object.fromEntries(
    readdirSync(folder)
      .toSorted()
      .map((name) => [name, readFileSync(join(folder, name), 'utf8')]),
  );

type Index = { [key: string]: { file: string; entries: number } };
const indexOf = (folder: string) =>
  JSON.parse(readFileSync(join(folder, 'sessions.json'), 'utf8')) as Index;

it('an export that is imported and exported again has the same bytes', async () => {
  const source = await install({ config: {} });
  const call = await operatorOf(source);
  await source.run(MAIN, 'echo apples');
  await source.run(MAIN, 'call calculate {"expression": "6 * 7"}');
  await call('sessions.reset', { key: MAIN, reason: 'closed' });
  await source.run(MAIN, 'echo "pears", 漢字 and 👩‍👩‍👧');
  await call('sessions.compact', { key: MAIN });
  await source.run(MAIN, 'echo plums');
  await source.run(TOPIC, 'echo a topic');
  await source.run('agent:main:gone', 'echo deleted');
  await call('sessions.delete', { key: 'agent:main:gone' });
  await source.run('agent:main:gone', 'echo created again');
  const first = await exported(source);
  const names = Object.keys(filesIn(first));
  expect(names).toContain('sessions.json');
  expect(names.filter((name) => name.endsWith('-topic-7.jsonl'))).toHaveLength(1);
  expect(Object.values(filesIn(first)).join()).not.toContain('echo deleted');

  const target = await install({ config: {} });
  expect(await sessionsOf(target)('import', first)).toMatchObject({ code: 0, stderr: '' });
  expect(filesIn(await exported(target))).toEqual(filesIn(first));
  // A second installation gives the prompts, and the positions of a compaction, other numbers.
  const third = await install({ config: {} });
  expect(await sessionsOf(third)('import', await exported(target))).toMatchObject({ code: 0 });
  expect(filesIn(await exported(third))).toEqual(filesIn(first));
});

it('an imported session continues as the same conversation', async () => {
  const source = await install({ config: {} });
  const call = await operatorOf(source);
  await source.run(MAIN, 'echo apples');
  await call('sessions.compact', { key: MAIN });
  await source.run(MAIN, 'echo pears');
  const target = await install({ config: {} });
  await sessionsOf(target)('import', await exported(source));
  const tokens = async (troupe: Installation) => {
    const { row } = await troupe.run(MAIN, 'echo plums');
    expect(row.status).toBe('ok');
    return row.usage!.inputTokens;
  };
  const other = await install({ config: {} });
  // The offline model counts the tokens that it is sent.
  expect(await tokens(target)).toBe(await tokens(source));
  expect(await tokens(other)).toBeLessThan(await tokens(target));
  const { key, label } = await (await operatorOf(target))('sessions.show', { key: MAIN });
  expect({ key, label }).toEqual({ key: MAIN, label: undefined });
});

it('an import may be repeated, and never changes a session that continued', async () => {
  const source = await install({ config: {} });
  await source.run(MAIN, 'echo apples');
  const folder = await exported(source);
  const target = await install({ config: {} });
  await sessionsOf(target)('import', folder);
  await target.run(MAIN, 'echo pears');
  const before = await target.transcript(MAIN);
  expect(await sessionsOf(target)('import', folder)).toMatchObject({ code: 0, stderr: '' });
  expect(await target.transcript(MAIN)).toEqual(before);
});

it('two sessions whose keys differ in case stay two', async () => {
  const source = await install({ config: {} });
  const keys = ['agent:main:slack:group:C024BE91L', 'agent:main:slack:group:c024be91l'];
  for (const key of keys) await source.run(key, `echo ${key}`);
  const target = await install({ config: {} });
  const ended = await sessionsOf(target)('import', await exported(source));
  expect(ended).toMatchObject({ code: 0, stderr: '' });
  for (const key of keys)
    expect(await target.transcript(key)).toContainEqual(
      expect.objectContaining({ type: 'user', text: `echo ${key}` }),
    );
});

it('an interrupted import is continued, and messages wait for its end', async () => {
  const source = await install({ config: {} });
  for (const text of ['echo apples', 'echo pears']) await source.run(MAIN, text);
  const folder = await exported(source);
  const { file, entries: _, ...facts } = indexOf(folder)[MAIN]!;
  const lines = readFileSync(join(folder, file), 'utf8').trimEnd().split('\n');
  const target = await install({ config: {} });
  const call = await operatorOf(target);
  const page = { key: MAIN, facts, from: 0, entries: [JSON.parse(lines[0]!)], isLast: false };
  const stored = { entries: 1, isComplete: false };
  expect(await call('sessions.import', page)).toMatchObject(stored);
  expect(await call('sessions.import', page)).toMatchObject(stored);
  await expect(call('sessions.import', { ...page, from: 2 })).rejects.toThrow('CONFLICT');
  const runId = await target.send(MAIN, 'echo plums');
  const all = lines.slice(1).map((line) => JSON.parse(line) as object);
  await call('sessions.import', { ...page, from: 1, entries: all, isLast: true });
  expect(await target.rowAtEnd(runId)).toMatchObject({ status: 'ok' });
  const texts = (await target.transcript(MAIN)).flatMap((one) =>
    one.type === 'user' ? [one.text] : [],
  );
  expect(texts).toEqual(['echo apples', 'echo pears', 'echo plums']);
});

it('another session with the key is kept, or replaced on request', async () => {
  const source = await install({ config: {} });
  await source.run(MAIN, 'echo apples');
  await source.run(TOPIC, 'echo a topic');
  const folder = await exported(source);
  const target = await install({ config: {} });
  await target.run(MAIN, 'echo mine');
  const refused = await sessionsOf(target)('import', folder);
  expect(refused).toMatchObject({ code: 1 });
  expect(refused.stderr).toContain(`left out: ${MAIN}: the session ${MAIN} exists already`);
  expect(target.sessionRow(TOPIC)).toBeDefined();
  expect(JSON.stringify(await target.transcript(MAIN))).not.toContain('apples');
  expect(await sessionsOf(target)('import', folder, '--replace')).toMatchObject({ code: 0 });
  expect(filesIn(await exported(target))).toEqual(filesIn(folder));
});

it('a deleted session is restored from its export', async () => {
  const troupe = await install({ config: {} });
  const call = await operatorOf(troupe);
  await troupe.run(TOPIC, 'echo apples');
  const folder = await exported(troupe);
  await troupe.run(TOPIC, 'echo pears');
  await call('sessions.delete', { key: TOPIC });
  expect(await sessionsOf(troupe)('import', folder)).toMatchObject({ code: 0, stderr: '' });
  expect(filesIn(await exported(troupe))).toEqual(filesIn(folder));
});

it.each([
  ['{"type":"user","runId":"r","at":1}', '/text'],
  [
    '{"type":"assistant","runId":"r","at":1,"text":"","model":"m","stop":"message","files":5}',
    '/files',
  ],
  ['{"type":"note"}', '/type must be one of user'],
  ['{"type":"user"', 'not JSON'],
  ['', 'not JSON'],
])('a malformed line %s is refused with its place, and nothing is created', async (line, what) => {
  const source = await install({ config: {} });
  await source.run(MAIN, 'echo apples');
  await source.run(TOPIC, 'echo a topic');
  const folder = await exported(source);
  const { file } = indexOf(folder)[MAIN]!;
  const lines = readFileSync(join(folder, file), 'utf8').split('\n');
  writeFileSync(join(folder, file), lines.with(1, line).join('\n'));
  const target = await install({ config: {} });
  const ended = await sessionsOf(target)('import', folder);
  expect(ended.code).not.toBe(0);
  expect(ended.stderr).toContain(`${join(folder, file)}:2: `);
  expect(ended.stderr).toContain(what);
  expect(target.sessionRow(MAIN)).toBeUndefined();
  expect(target.sessionRow(TOPIC)).toBeUndefined();
});

it('only sessions whose keys are taken lead to the advice to replace them', async () => {
  const target = await install({ config: {} });
  await target.run(MAIN, 'echo apples');
  const folder = await exported(target, MAIN);
  const { [MAIN]: facts } = indexOf(folder);
  const importAs = (key: string) => {
    writeFileSync(join(folder, 'sessions.json'), JSON.stringify({ [key]: facts }));
    return sessionsOf(target)('import', folder);
  };
  const unknown = await importAs('agent:unknown:main');
  expect(unknown).toMatchObject({ code: 1 });
  expect(unknown.stderr).toContain('unknown agent id "unknown"');
  expect(unknown.stderr).not.toContain('--replace');
  rmSync(join(folder, facts!.file));
  const missing = await importAs(MAIN);
  expect(missing).toMatchObject({ code: 2 });
  expect(missing.stderr).toMatch(/\.jsonl: sessions\.json names this file.*nothing was imported/);
});

it('a file that was cut off is refused', async () => {
  const source = await install({ config: {} });
  await source.run(TOPIC, 'echo a topic');
  const folder = await exported(source, TOPIC);
  const file = readdirSync(folder).find((name) => name.endsWith('.jsonl'))!;
  const whole = readFileSync(join(folder, file));
  writeFileSync(join(folder, file), whole.subarray(0, -10));
  const target = await install({ config: {} });
  const refused = await sessionsOf(target)('import', folder);
  expect(refused.stderr).toContain('the file is not complete');
  writeFileSync(join(folder, file), whole.subarray(0, whole.indexOf('\n') + 1));
  expect((await sessionsOf(target)('import', folder)).stderr).toContain('has 1 lines');
});

it('a run that has not ended is left out, and the session is exported up to it', async () => {
  const source = await install({ config: {} });
  const call = await operatorOf(source);
  await source.run(MAIN, 'echo apples');
  const before = filesIn(await exported(source));
  await source.send(MAIN, 'call exec {"command": "touch x"}');
  await eventually(async () => expect((await call('approvals.list')).approvals).toHaveLength(1));
  const folder = join(scratchFolder(), 'exported');
  const { code, stderr } = await sessionsOf(source)('export', '--out', folder);
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: `${MAIN}: its run has not ended and is left out\n`,
  });
  const { 'sessions.json': _, ...files } = filesIn(folder);
  const { 'sessions.json': __, ...filesBefore } = before;
  expect(files).toEqual(filesBefore);
});

it('an export is not replaced, and a named session must exist', async () => {
  const source = await install({ config: {} });
  await source.run(MAIN, 'echo apples');
  const folder = await exported(source);
  const sessions = sessionsOf(source);
  expect((await sessions('export', '--out', folder)).stderr).toContain('choose another folder');
  expect(await sessions('export', '--out', folder, '--force')).toMatchObject({ code: 0 });
  const missing = await sessions('export', 'agent:main:none', '--out', scratchFolder());
  expect(missing.stderr).toContain('session agent:main:none does not exist');
});

it('a long transcript is moved in pages', { timeout: 120_000 }, async () => {
  const source = await install({ config: {} });
  await source.run(TOPIC, 'echo a topic');
  const folder = await exported(source);
  const index = join(folder, 'sessions.json');
  const sessions = indexOf(folder);
  const listed = sessions[TOPIC]!;
  const lines = readFileSync(join(folder, listed.file), 'utf8');
  const repeats = 1_000;
  writeFileSync(join(folder, listed.file), lines.repeat(repeats));
  listed.entries *= repeats;
  writeFileSync(index, `${JSON.stringify(sessions, null, 2)}\n`);
  const target = await install({ config: {} });
  expect(await sessionsOf(target)('import', folder)).toMatchObject({ code: 0 });
  expect(filesIn(await exported(target))).toEqual(filesIn(folder));
  const last = await target.system.transcripts.last(sessionAddress('default', TOPIC));
  expect(last).toBeGreaterThanOrEqual(listed.entries);
});
