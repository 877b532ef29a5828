/** `troupe conversations` as a process, against a real system behind real HTTP. */
import { expect, it } from 'vitest';
import { openConversations, SECRET } from '../../channels/http/conversation-server.ts';
import { runProgram } from '../program.ts';

it('troupe conversations lists conversations, shows the turns of one and ends it', async () => {
  const server = await openConversations();
  const conversations = (...args: string[]) => {
    const at = ['--url', server.url.replace('http:', 'ws:'), '--token', SECRET];
    return runProgram(['conversations', ...args, ...at]);
  };
  expect(await conversations()).toMatchObject({
    code: 0,
    stdout: 'there are no conversations between agents\n',
  });
  const row = await server.begin('c1', 'replying');
  const { stdout } = await conversations('list', '--session', row.target);
  expect(stdout).toMatch(/^CONVERSATION +STATE +BEGUN +FROM +TO +TURNS +MESSAGE\n/);
  expect(stdout).toMatch(
    /\nc1 +replying +\d+ s ago +agent:main:main +agent:second:main +2 +How are you\?\n$/,
  );
  const shown = await conversations('show', 'c1');
  expect(shown.stdout).toMatch(
    /^c1, replying\n {2}agent:main:main \(run run-1\) to agent:second:main, delivered\n/,
  );
  expect(shown.stdout).toMatch(/\n0 +agent:second:main +talk-c1-0 +ok +\d+ s\n/);
  expect(shown.stdout).toMatch(/\n1 +agent:main:main +talk-c1-1 +awaited\n$/);
  expect((await conversations('end', 'c1')).stdout).toBe('c1 has no more turns\n');
  expect((await conversations('end', 'c1')).stdout).toBe('c1 had already ended\n');
  expect((await conversations('show', 'c1')).stdout).toMatch(
    /^c1, ended: ended \(an operator ended it\)\n {2}/,
  );
  const json = await conversations('list', '--json');
  expect(JSON.parse(json.stdout)).toMatchObject({ conversations: [{ id: 'c1', end: 'ended' }] });
  const none = await conversations('show', 'nothing', '--json');
  expect(none.code).not.toBe(0);
  expect(JSON.parse(none.stdout)).toMatchObject({ error: { code: 'NOT_FOUND' } });
}, 60_000);
