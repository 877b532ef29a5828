/**
 * What a subagent receives and may use: its task and the given context, its own workspace, and the
 * tools that the policy permits; checked by the requests that the model server received.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ServedApi } from '../servers/model-server.ts';
import { write } from '../runtime/config/folder.ts';
import {
  play,
  resultsOf,
  says,
  type Script,
  settled,
  type Turn,
  wants,
} from './scripted-agents.ts';

const MAIN = 'agent:main:main';
const APIS: readonly ServedApi[] = ['anthropic-messages', 'openai-responses'];
/** What the parent has and the child must not receive, by the place where it is stored. */
const SECRETS = {
  conversation: 'vermilion-1207',
  'SOUL.md': 'persona-3318',
  'USER.md': 'person-5520',
  'IDENTITY.md': 'identity-7745',
};
const SHARED = { 'AGENTS.md': 'manners-6622', 'TOOLS.md': 'hammer-8813' };
const everything = ({ parts, system }: Turn): string =>
  [system, ...parts.map(({ text }) => text)].join('\n');

/** The parent delegates `task` with these arguments; the child answers with `child`. */
const handsOn =
  (more: object, child: Script = () => says('done')): Script =>
  (turn) => {
    if (turn.isSubagent) return child(turn);
    if (turn.said !== 'hand it on' || turn.results.length > 0) return says('yes');
    return wants(['sessions_spawn', { task: 'count the apples', wait: true, ...more }]);
  };

describe.each(APIS)('a subagent on %s', (api) => {
  it('receives its task and nothing else of its parent’s context', async () => {
    const { troupe, turns } = await play(api, handsOn({ context: 'there are pears, too' }));
    for (const [name, text] of Object.entries({ ...SECRETS, ...SHARED }))
      if (name !== 'conversation') write(troupe.workspace(), name, text);
    await troupe.run(MAIN, `remember ${SECRETS.conversation}`);
    await troupe.run(MAIN, 'hand it on');
    const [child, ...others] = turns().filter(({ isSubagent }) => isSubagent);
    expect(others).toEqual([]);
    const seen = everything(child!);
    for (const secret of Object.values(SECRETS)) expect(seen).not.toContain(secret);
    for (const shared of Object.values(SHARED)) expect(seen).toContain(shared);
    expect(child!.parts).toHaveLength(1);
    expect(child!.said).toContain('count the apples');
    expect(child!.said).toContain('there are pears, too');
    // the parent had all of them
    const parent = everything(turns().at(-1)!);
    for (const secret of Object.values(SECRETS)) expect(parent).toContain(secret);
  });

  it('has the tools that policy allows, and the parent reads which were removed and why', async () => {
    const asked = ['read', 'write', 'clock', 'exec', 'sessions_spawn'];
    const { troupe, turns } = await play(api, handsOn({ tools: asked }));
    await troupe.run(MAIN, 'hand it on');
    expect(turns().find(({ isSubagent }) => isSubagent)?.tools).toEqual(['read']);
    const [result] = await resultsOf(troupe, MAIN);
    const cut = result!['cut'] as { tool: string; why?: string }[];
    expect(cut.map(({ tool }) => tool).toSorted()).toEqual(
      asked.filter((name) => name !== 'read').toSorted(),
    );
  });
});

/** Subagents that read and write files in their workspace. */
const FILES = {
  agents: {
    spawnDefaults: {
      sandbox: {
        mode: 'none',
        workspaceAccess: 'rw',
        allowlist: ['read', 'write'],
        denylist: [],
      },
    },
  },
};

it('has a workspace of its own, without its parent’s files, which is removed afterwards', async () => {
  const child: Script = ({ results }) => {
    if (results.length > 0) return says(JSON.stringify(results));
    return wants(
      ['read', { path: 'apples.txt' }],
      ['write', { path: 'apples.txt', content: 'none' }],
    );
  };
  const { troupe } = await play('anthropic-messages', handsOn({}, child), FILES);
  write(troupe.workspace(), 'apples.txt', 'seven apples');
  await troupe.run(MAIN, 'hand it on');
  const [result] = await resultsOf(troupe, MAIN);
  expect(result).toMatchObject({ status: 'completed' });
  expect(String(result!['result'])).not.toContain('seven');
  expect(String(result!['result'])).toContain('Wrote 4 bytes');
  expect(readFileSync(join(troupe.workspace(), 'apples.txt'), 'utf8')).toBe('seven apples');
});

it('works in its parent’s workspace when the parent requests it', async () => {
  const child: Script = ({ results }) => {
    if (results.length > 0) return says(JSON.stringify(results));
    return wants(
      ['read', { path: 'apples.txt' }],
      ['write', { path: 'pears.txt', content: 'two' }],
    );
  };
  const { troupe } = await play('anthropic-messages', handsOn({ isolated: false }, child), FILES);
  write(troupe.workspace(), 'apples.txt', 'seven apples');
  await troupe.run(MAIN, 'hand it on');
  const [result] = await resultsOf(troupe, MAIN);
  expect(String(result!['result'])).toContain('seven apples');
  expect(readFileSync(join(troupe.workspace(), 'pears.txt'), 'utf8')).toBe('two');
});

it('is read-only by default, and cannot call tools that it was not granted', async () => {
  const child: Script = ({ results }) => {
    if (results.length > 0) return says(JSON.stringify(results));
    return wants(
      ['write', { path: 'made.txt', content: 'x' }],
      ['sessions_spawn', { task: 'more' }],
      ['sessions_send', { sessionKey: MAIN, message: 'let me out' }],
    );
  };
  const { troupe, turns } = await play('anthropic-messages', handsOn({ isolated: false }, child));
  await troupe.run(MAIN, 'hand it on');
  const { subagents, conversations } = await settled(troupe);
  expect(subagents).toHaveLength(1);
  expect(conversations).toEqual([]);
  expect(existsSync(join(troupe.workspace(), 'made.txt'))).toBe(false);
  const last = turns().findLast(({ isSubagent }) => isSubagent);
  expect(last?.results).toHaveLength(3);
  for (const { text } of last!.results)
    expect(text).toMatch(/cannot be used here|not available|there is no/i);
});
