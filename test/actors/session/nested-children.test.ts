/** Subagents of a subagent's session, by pure transitions: its grant and its own end. */
import { describe, expect, it } from 'vitest';
import { heldBelow } from '../../../actors/session/subagents/budget-ledger.ts';
import { type SubagentTerms } from '../../../protocols/subagent.ts';
import { spawnTerms } from './bonds-walk.ts';
import { answer, call, Driven } from './driven.ts';
import { limits, typesTo, tellIn, resultOfSpawn, spawn, end, finish, own } from './parent.ts';

describe("a subagent's session", () => {
  const terms: SubagentTerms = {
    ...spawnTerms,
    parent: 'agent:main:main',
    root: 'agent:main:main',
    depth: 2,
    spawns: 8,
    tokens: 20_000,
  };
  const deep = { limits: { ...limits, depthMax: 4 } };
  const child = (): Driven => {
    const session = new Driven('agent:coder:subagent:main');
    session.receive('sub-main', { terms }, own);
    session.admit('sub-main');
    session.done('model', answer([call('a')]));
    return session;
  };

  it('grants half of what is left of its own grant, and lives of the other half', () => {
    const session = child();
    const asked = { ...deep, terms: { ...spawnTerms, tokens: 50_000 } };
    const said = spawn(session, 'g1', asked);
    expect(resultOfSpawn(said)).toMatchObject({ tokens: Math.floor((20_000 - 5) / 2) });
    expect(tellIn(said, 'subagent.reserve')).toMatchObject({
      terms: { depth: 3, spawns: 1, root: 'agent:main:main' },
    });
    expect(heldBelow(session.context).inputTokens).toBe(9_997);
    const little = { ...deep, terms: { ...spawnTerms, tokens: 500 } };
    expect(resultOfSpawn(spawn(session, 'g2', little))).toMatchObject({ rule: 'tokens' });
  });

  it('receives each end, for its own waits for it', () => {
    const session = child();
    spawn(session, 'g1', { ...deep, reportBack: false });
    const said = finish(session);
    expect(tellIn(said, 'run.ended')).toMatchObject({ open: 1 });
    end(session, 'g1');
    expect(session.context.run?.origin?.ids).toEqual(['g1']);
  });

  it('that is stopped reports when the last subagent below it has ended', () => {
    const session = child();
    spawn(session, 'g1', deep);
    session.send({ type: 'session.abort' }, own);
    const said = session.send({ type: 'session.kill', reason: 'late' }, own);
    expect(typesTo(said, 'g1')).toEqual(['subagent.kill']);
    expect(tellIn(said, 'run.ended')).toBeUndefined();
    const last = end(session, 'g1', { outcome: 'killed' });
    expect(tellIn(last, 'run.ended')).toMatchObject({ open: 0, below: { spawned: 1 } });
    expect(session.state).toBe('idle');
  });

  it('that is stopped while it collects reports starts no further run', () => {
    const session = child();
    for (const id of ['g1', 'g2']) spawn(session, id, deep);
    finish(session);
    end(session, 'g1');
    expect(session.state).toBe('collecting');
    session.send({ type: 'session.abort' }, own);
    session.send({ type: 'session.kill', reason: 'late' }, own);
    expect(session.state).toBe('idle');
    expect(tellIn(end(session, 'g2'), 'run.ended')).toMatchObject({
      open: 0,
      below: { spawned: 2 },
    });
  });

  it('has its end when all below it have theirs, also where a run of it ends in between', () => {
    const session = child();
    for (const id of ['g1', 'g2']) spawn(session, id, deep);
    end(session, 'g1');
    session.send({ type: 'session.abort' }, own);
    session.fire('quiet');
    expect(session.context.run?.origin?.ids).toEqual(['g1']);
    session.send({ type: 'session.kill', reason: 'late' }, own);
    const ended = session.send({ type: 'session.abort' }, own);
    expect(tellIn(ended, 'run.ended')).toMatchObject({ open: 1, below: { spawned: 1 } });
    expect(tellIn(end(session, 'g2'), 'run.ended')).toMatchObject({
      open: 0,
      below: { spawned: 2 },
    });
  });

  it('keeps what is left of its grant through a reset', () => {
    const session = child();
    session.send({ type: 'session.reset' });
    expect(session.context.books).toMatchObject({ tokens: 20_000 - 5, spawns: 8 });
  });
});
