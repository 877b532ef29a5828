/** Which agents a gateway lists while its cluster starts and afterwards. */
import { expect, it } from 'vitest';
import { AgentEditor, type AgentEditorOptions } from '../../../installation/setup/agent-editor.ts';
import { load } from '../../runtime/config/folder.ts';

const listed = (root: object | undefined, rows: readonly (readonly [string, string])[]) => {
  const { config } = load("{ agents: { agents: [{ id: 'main' }, { id: 'helper' }] } }");
  const index = {
    get: () => root,
    list: () => rows.map(([agentId, status]) => ({ key: agentId, value: { agentId, status } })),
  };
  const editor = new AgentEditor({
    system: { index, ask: () => Promise.reject(new Error('not asked')) },
    tenant: 'default',
    running: config,
    fallbackModel: 'offline/troupe-offline',
    folders: { nameOf: (id: string) => id },
    now: () => 0,
    clustered: true,
  } as unknown as AgentEditorOptions);
  return editor.cards().map(({ id }) => id);
};

it('lists configured agents before their rows exist', () => {
  expect(listed(undefined, [])).toEqual(['main', 'helper']);
  expect(listed({ agents: 2 }, [['helper', 'active']])).toEqual(['main', 'helper']);
});

it('lists the agents of the cluster once all their rows exist', () => {
  expect(listed({ agents: 1 }, [['main', 'active']])).toEqual(['main']);
  const rows = [
    ['main', 'active'],
    ['writer', 'active'],
    ['helper', 'retired'],
  ] as const;
  expect(listed({ agents: 2 }, rows)).toEqual(['main', 'writer']);
});

it('never lists a retired agent', () => {
  expect(listed({ agents: 2 }, [['helper', 'retired']])).toEqual(['main']);
});
