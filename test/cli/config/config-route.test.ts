/** `troupe config route`: the route of a message with the table, the hook and the policy. */
import { expect, it } from 'vitest';
import { scratchFolder, write } from '../../runtime/config/folder.ts';
import { runProgram } from '../program.ts';

const CONFIG = `{
  agents: {
    list: [{ id: 'main' }, { id: 'work' }],
    routing: { telegram: { groups: { '*': { agent: 'work', requireMention: true } } } },
  },
  session: { dmScope: 'per-channel-peer' },
  channels: { telegram: { accounts: { main: { token: 't', allowFrom: ['42'], groups: { '-5': {} } } } } },
  tenants: { acme: { channelAccounts: ['telegram:acme'], agents: { agents: [{ id: 'clerk' }] } } },
}`;

const installation = (hook?: string): string => {
  const home = scratchFolder();
  write(home, '.troupe/troupe.json5', CONFIG);
  if (hook !== undefined) write(home, '.troupe/hooks/route-by-content.js', hook);
  return home;
};
const routed = async (home: string, ...args: string[]) => {
  const of = ['config', 'route', 'telegram:main', '--sender', '42', ...args, '--json'];
  const { stdout, stderr } = await runProgram(of, { home });
  return { ...(JSON.parse(stdout) as object), stderr };
};

it('names the agent, the session, the rule, and whether the account admits the message', async () => {
  const home = installation();
  const { code, stdout } = await runProgram(
    ['config', 'route', 'telegram:main', '--sender', '42'],
    { home },
  );
  expect([code, stdout]).toEqual([
    0,
    'agent:   main\nsession: agent:main:telegram:dm:42\nrule:    first agent\ntenant:  default\naccount: admitted\n',
  ]);
  expect(await routed(home, '--group', '-5', '--thread', '7')).toMatchObject({
    agentId: 'work',
    sessionKey: 'agent:work:telegram:group:-5:topic:7',
    rule: 'group *',
    admission: { pass: false, rule: 'group.mention' },
  });
  expect(await routed(home, '--group', '-5', '--mention')).toMatchObject({
    admission: { pass: true },
  });
});

it('uses the agents of the tenant that has the account, and refuses a name without an account', async () => {
  const home = installation();
  const of = ['config', 'route', 'telegram:acme', '--sender', '42', '--json'];
  const { stdout } = await runProgram(of, { home });
  const shown: unknown = JSON.parse(stdout);
  expect(shown).toMatchObject({ agentId: 'clerk', tenant: 'acme' });
  expect(shown).not.toHaveProperty('admission');
  const wrong = await runProgram(['config', 'route', 'telegram', '--sender', '42'], { home });
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('<channel>:<account>') });
});

it('asks the hook first, and falls back to the table if it fails or names no agent', async () => {
  const home = installation(`
    export async function routeMessage({ message, channel, sender }) {
      if (message.text.includes('#work')) return { agent: 'work' };
      if (message.text.includes('#unknown')) return { agent: 'x' };
      if (message.text.includes('#late')) await new Promise(() => {});
      if (message.text.includes('#wrong')) throw new Error(channel + ' ' + sender.id);
    }`);
  expect(await routed(home, '--text', 'a #work b')).toMatchObject({
    agentId: 'work',
    sessionKey: 'agent:work:telegram:dm:42',
    rule: 'hook',
    stderr: '',
  });
  const table = { agentId: 'main', rule: 'first agent' };
  expect(await routed(home, '--text', 'hello')).toMatchObject({ ...table, stderr: '' });
  expect(await routed(home, '--text', '#unknown')).toMatchObject({
    agentId: 'main',
    rule: 'first agent (the hook chose "x", which is no agent)',
  });
  for (const [text, fault] of [
    ['#wrong', 'telegram 42'],
    ['#late', 'longer than 2000 ms'],
  ] as const)
    expect(await routed(home, '--text', text)).toMatchObject({
      ...table,
      stderr: expect.stringContaining(fault) as string,
    });
});
