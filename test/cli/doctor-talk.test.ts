/** The checks of `troupe doctor` on conversations between agents. */
import { describe, expect, it } from 'vitest';
import { talk } from '../../cli/doctor/doctor-talk.ts';
import { load } from '../runtime/config/folder.ts';

const findings = (text: string) => talk(load(text).config);

describe('troupe doctor, of agents that talk', () => {
  it('says how far they reach, where nothing is amiss', () => {
    expect(findings('{}')).toMatchObject([
      { status: 'ok', message: expect.stringContaining('tools.agentToAgent.enabled is false') },
    ]);
    const open = "{ tools: { agentToAgent: { enabled: true, allow: [{ from: '*', to: '*' }] } } }";
    expect(findings(open)).toMatchObject([{ status: 'ok' }]);
  });

  it('names the lists that nothing reads', () => {
    expect(
      findings(`{
        agents: { agents: [{ id: 'a', a2a: { allowOutgoing: [] } }, { id: 'b' }] },
        tools: { agentToAgent: { allow: [] } },
      }`),
    ).toMatchObject([
      {
        status: 'warn',
        message:
          'tools.agentToAgent.enabled is false: tools.agentToAgent.allow, ' +
          'agents.agents[a].a2a have no effect',
        remedy: 'set it to true, or leave these keys out',
      },
    ]);
  });

  it('names who may start agents where none is started', () => {
    expect(
      findings(`{ agents: { spawnDefaults: { maxSpawnDepth: 1 }, agents: [
        { id: 'a', subagents: { allowAgents: ['b'] } }, { id: 'b', subagents: { allowAgents: [] } },
      ] } }`),
    ).toMatchObject([
      {
        status: 'warn',
        message: expect.stringMatching(
          /: agents\.agents\[a\]\.subagents\.allowAgents has no effect$/,
        ),
        remedy: 'set it to 2 or more, or leave this key out',
      },
    ]);
  });
});
