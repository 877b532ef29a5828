import { readdir, readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { AgentServices } from '../../../../agent/services.ts';
import { callOnce } from '../../../../actors/session/effects/call-once.ts';
import { callKeyed, callTools } from '../../../../actors/session/effects/call-tools.ts';
import type { PlannedCall } from '../../../../agent/policy/planned-call.ts';
import { createEditTool } from '../../../../agent/tools/files/edit.ts';
import { createToolRegistry } from '../../../../agent/tools/registry.ts';
import { sessionsSpawnTool } from '../../../../agent/tools/sessions/sessions-spawn.ts';
import { createWriteTool } from '../../../../agent/tools/files/write.ts';
import { address } from '../../../../protocols/address.ts';
import type { SpawnResult } from '../../../../protocols/subagent.ts';
import type { EffectContext, Index } from '../../../../runtime/index.ts';
import { OPEN_TALK } from '../../../servers/talk-rules.ts';
import { session, stage } from './stage.ts';

const planned = (id: string, name: string, args: object, more: object): PlannedCall =>
  ({
    id,
    name,
    args,
    parallel: false,
    confinement: { sandboxed: false, workspaceAccess: 'rw' },
    ...more,
  }) as PlannedCall;

it('calls that leave an escaping link keep their files, and the last result names the link', async () => {
  const at = await stage();
  Object.assign(at.services, { tools: createToolRegistry([createWriteTool(), createEditTool()]) });
  await at.inWorkspace((path) => symlink('/etc/passwd', join(path, 'out')));
  const write = (name: string) =>
    planned(name, 'write', { path: name, content: 'one' }, { class: 'repeatable' });
  const run = { ...session, calls: [write('a'), write('b')] };
  const results = await at.run((context) => callTools.run(run, context), 'batch', 'discard');
  expect(results).toMatchObject([
    { callId: 'a', isError: false },
    { callId: 'b', isError: false },
  ]);
  expect(results[0]!.result).not.toContain('saved without');
  expect(results[1]!.result).toMatch(
    /\[These paths are not saved with the workspace.*\n"out": it is a link to "\/etc\/passwd"/,
  );
  const edits = [{ oldText: 'one', newText: 'two' }];
  const once = {
    ...session,
    calls: [planned('e', 'edit', { path: 'a', edits }, { class: 'once' })],
  };
  const [edited] = await at.run((context) => callOnce.run(once, context), 'once', 'discard');
  expect(edited).toMatchObject({ isError: false });
  expect(edited!.result).toMatch(
    /^Edited a: 1 replaced\.\n\[These paths are not saved with the workspace/,
  );
  await at.inWorkspace(async (path) => expect(await readFile(join(path, 'a'), 'utf8')).toBe('two'));
});

it('calls of a subagent work in its own workspace, not in that of its agent', async () => {
  const at = await stage();
  Object.assign(at.services, { tools: createToolRegistry([createWriteTool()]) });
  await at.inWorkspace(() => Promise.resolve());
  const workspace = address('default', 'subagent', 'u1');
  const calls = [planned('a', 'write', { path: 'a', content: 'one' }, { class: 'repeatable' })];
  const run = { ...session, calls, workspace };
  const results = await at.run((context) => callTools.run(run, context), 'batch', 'discard');
  expect(results).toMatchObject([{ callId: 'a', isError: false }]);
  await at.inWorkspace(async (path) => expect(await readdir(path)).not.toContain('a'));
  const found = await at.run((context) => context.peek(workspace, ['a']), 'look', 'discard');
  expect(new TextDecoder().decode(found?.files[0]?.bytes)).toBe('one');
});

const NO_ROWS: Index = { get: () => undefined, list: () => [], scan: () => Promise.resolve() };

it('calls with the end of a subagent name it, whatever a hook does to their text', async () => {
  const hooks = {
    name: 'short',
    hooks: { tool_result_persist: () => ({ result: '"accepted"' }) },
  };
  const at = await stage({ hooks });
  const child = 'agent:main:subagent:u1';
  const result = {
    status: 'completed',
    sessionId: child,
    runId: 'sub-u1',
    childSessionKey: child,
    result: 'Seven.',
    tokensUsed: 5,
    duration: 1_000,
  } satisfies SpawnResult;
  let id: unknown;
  const ask: AgentServices['ask'] = (_, event) => {
    id = event['id'];
    return Promise.resolve({ kind: 'answered', result });
  };
  const tools = createToolRegistry([sessionsSpawnTool]);
  Object.assign(at.services, { tools, ask, talk: OPEN_TALK });
  const calls = [planned('a', 'sessions_spawn', { task: 'count', wait: true }, { class: 'keyed' })];
  const run = (context: EffectContext) =>
    callKeyed.run({ ...session, calls }, { ...context, index: () => Promise.resolve(NO_ROWS) });
  const [outcome] = await at.run(run, 'batch', 'discard');
  expect(outcome).toMatchObject({ result: '"accepted"', ends: [id] });
});
