/** Results of subagents whose parent was deleted before its agent had read them. */
import { describe, expect, it } from 'vitest';
import { address } from '../../../protocols/address.ts';
import { subagentAddress } from '../../../protocols/subagent.ts';
import { endedOf, spawnLimits, spawnOf } from './bonds-walk.ts';
import { answer, call, Driven, resultOf } from './driven.ts';
import { terms } from './terms-of-test.ts';

const limits = { ...spawnLimits, concurrentMax: 2 };
const subagent = (id: string) => subagentAddress('default', id);

describe('results that a deleted session leaves, where they are adopted,', () => {
  it('are read by the session that adopts them, also if they had ended before', () => {
    const web = 'agent:main:web';
    const session = new Driven(web);
    session.begin('r1');
    session.done('model', answer([call('a')]));
    const adopt = { limits: { ...limits, onParentReset: 'adopt' as const } };
    for (const id of ['c1', 'c2']) session.send(spawnOf(id, 'r1', adopt));
    session.done('tools', [resultOf('a')]);
    session.done('model', answer([]));
    session.send(endedOf('c1'), subagent('c1'));
    const closed = session.send({ type: 'session.close' });
    const { event: handed } = closed.tells.find(({ event }) => event.type === 'session.adopt')!;
    expect(handed['children']).toMatchObject([{ id: 'c2' }, { id: 'c1', ended: true }]);
    const main = new Driven();
    const said = main.send(handed, address('default', 'session', web));
    const sent = said.tells.filter(({ to }) => to === subagent('c1'));
    expect(sent.map(({ event }) => event)).toEqual([
      { type: 'subagent.move', parent: 'agent:main:main' },
      { type: 'subagent.report' },
    ]);
    const again = main.send(endedOf('c1', { again: true }), subagent('c1'));
    expect(again.tells).toMatchObject([{ event: { type: 'subagent.heard', how: 'collect' } }]);
    expect(main.context).toMatchObject({ reports: [{ id: 'c1' }], awaited: undefined });
    main.send(endedOf('c2'), subagent('c2'));
    expect(main.context.run?.origin?.ids).toEqual(['c1', 'c2']);
  });

  it('of an agent without a main session go to the root of its tree', () => {
    const session = new Driven('agent:made-up:subagent:u1');
    const root = { root: 'agent:main:web', parent: 'agent:main:web', spawns: 5 };
    session.receive('sub-u1', { terms: terms(root) }, subagent('u1'));
    session.admit('sub-u1');
    session.done('model', answer([call('a')]));
    const mayAdopt = { ...limits, depthMax: 3, onParentReset: 'adopt' as const };
    session.send(spawnOf('c1', 'sub-u1', { limits: mayAdopt }));
    const { tells } = session.send({ type: 'session.close' });
    const { to } = tells.find(({ event }) => event.type === 'session.adopt')!;
    expect(to).toBe(address('default', 'session', 'agent:main:web'));
  });
});
