/** The checks of `troupe doctor` on conversations between agents. */
import { describe, expect, it } from 'vitest';
import { talk } from '../../../cli/doctor/doctor-talk.ts';
import { load } from '../../runtime/config/folder.ts';

const findings = (text: string) => talk(load(text).config);

describe('troupe doctor, on conversations between agents', () => {
  it('reports which sessions agents reach if there is no problem', () => {
    expect(findings('{}')).toMatchObject([
      { status: 'ok', message: expect.stringContaining('tools.agentToAgent.enabled is false') },
    ]);
    const open = "{ tools: { agentToAgent: { enabled: true, allow: [{ from: '*', to: '*' }] } } }";
    expect(findings(open)).toMatchObject([{ status: 'ok' }]);
  });

  it('reports lists that have no effect', () => {
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

  it('reports lists of subagents when no agent can be started', () => {
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
