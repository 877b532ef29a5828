/** `troupe agents policy`: what agents may do with each other, and which setting denies it. */
import { describe, expect, it } from 'vitest';
import { policiesOf } from '../../../cli/agents/agents-policy.ts';
import { load, scratchFolder, write } from '../../runtime/config/folder.ts';
import { runProgram } from '../program.ts';

const TWO = `{
  agents: { agents: [
    { id: 'main', subagents: { allowAgents: ['*'] }, a2a: { historyAccess: { writer: 'summary' } } },
    { id: 'writer', a2a: { allowIncoming: [] } },
  ] },
  tools: { agentToAgent: { enabled: true } },
}`;
const policies = (text: string, of: Parameters<typeof policiesOf>[1]) =>
  policiesOf(load(text).config, of);
const yes = { allowed: true, level: 'full' };
const no = (rule: string) => ({ allowed: false, rule });

describe('troupe agents policy', () => {
  it('reports for each pair what is allowed, and which setting denies it', async () => {
    const [main, writer] = await policies(TWO, {});
    expect(main).toMatchObject({ sessionKey: 'agent:main:main', sandboxed: false });
    const closed = no('agents.agents[writer].a2a.allowIncoming');
    expect(main?.to).toMatchObject([
      { agentId: 'main', list: yes, history: yes, send: yes, spawn: yes },
      { agentId: 'writer', list: closed, history: closed, send: closed, spawn: yes },
      { agentId: '*', spawn: yes },
    ]);
    const alone = no('agents.agents[writer].subagents.allowAgents');
    expect(writer?.to).toMatchObject([
      { list: yes, history: { allowed: true, level: 'summary' }, send: yes, spawn: alone },
      { list: yes, history: yes, send: yes, spawn: yes },
      { spawn: alone },
    ]);
    expect(writer?.to[2]).not.toHaveProperty('list');
  });

  it('denies an access to a session without its tool', async () => {
    const of = { from: 'main', to: 'writer', session: 'web' };
    const [web] = await policies(TWO, of);
    expect(web).toMatchObject({ sessionKey: 'agent:main:web', sandboxed: true });
    expect(web?.to[0]?.list).toMatchObject({
      rule: 'the tool sessions_list',
      why: expect.stringContaining('sandbox.allowlist of agent main'),
    });
    const listed = TWO.replace(
      'agents: {',
      "agents: { defaults: { sandbox: { allowlist: ['group:sessions'] } },",
    );
    const [sandboxed] = await policies(listed, of);
    const visibility = no('agents.defaults.sandbox.sessionToolsVisibility');
    expect(sandboxed?.to[0]).toMatchObject({ list: visibility, send: visibility, spawn: yes });
  });

  it('denies every start at a depth of one', async () => {
    const flat = TWO.replace('agents: {', 'agents: { spawnDefaults: { maxSpawnDepth: 1 },');
    const [main] = await policies(flat, { from: 'main', to: 'main' });
    expect(main?.to[0]?.spawn).toMatchObject(no('agents.spawnDefaults.maxSpawnDepth'));
  });

  it('lists the known agents for an unknown id', async () => {
    for (const pair of [{ from: 'writr' }, { from: 'main', to: 'writr' }])
      await expect(policies(TWO, pair)).rejects.toThrow(
        "no agent 'writr' is configured; available: main, writer",
      );
  });

  it('prints a table with the reasons below it, or JSON', { timeout: 60_000 }, async () => {
    const home = scratchFolder();
    const config = write(home, 'troupe.json5', TWO);
    const { code, stdout } = await runProgram(['agents', 'policy', 'main', '--config', config]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^agent:main:main\nOTHER AGENT +LIST +HISTORY +SEND +SPAWN\n/);
    expect(stdout).toMatch(/^writer +no \(1\) +no \(1\) +no \(1\) +yes$/m);
    expect(stdout).toMatch(/^any other id +yes$/m);
    expect(stdout.match(/^\(1\) agents\.agents\[writer\]\.a2a\.allowIncoming: .*$/gm)).toHaveLength(
      1,
    );
    const json = await runProgram(['agents', 'policy', '--json', '--config', config]);
    expect(JSON.parse(json.stdout)).toMatchObject({ policies: [{ agentId: 'main' }, {}] });
    const unknown = await runProgram(['agents', 'policy', 'unknown-agent', '--config', config]);
    expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining('main, writer') });
  });
});
