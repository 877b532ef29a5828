/** Orders of operators to actors of a real installation. */
import { expect, it } from 'vitest';
import { install } from '../agent-runs/installation.ts';
import { eventually } from '../runtime/eventually.ts';
import { operatorOf } from './operator.ts';

const KEY = 'agent:main:trial';
const actor = `default/session/${KEY}`;

it('quarantines an actor with a reason, which it shows, and resumes it', async () => {
  const troupe = await install({ config: {} });
  const call = await operatorOf(troupe);
  await troupe.run(KEY, 'echo hello');
  const why = 'it repeats a message';
  expect(await call('actors.quarantine', { actor, why })).toEqual({ status: 'quarantined' });
  const shown = await call('actors.show', { actor });
  expect(shown).toMatchObject({ status: 'quarantined', why });
  expect(shown.waits[0]).toMatchObject({ kind: 'status', text: expect.stringContaining(why) });
  expect(await call('actors.resume', { actor })).toEqual({ status: 'active' });
  await troupe.run(KEY, 'echo again');
  expect((await call('actors.show', { actor })).waits).toEqual([]);
});

it('pauses an actor: its messages wait in order, and are processed when it is resumed', async () => {
  const troupe = await install({ config: {} });
  const call = await operatorOf(troupe);
  await troupe.run(KEY, 'echo hello');
  expect(await call('actors.pause', { actor, why: 'a repair' })).toEqual({ status: 'paused' });
  expect(await call('actors.show', { actor })).toMatchObject({
    status: 'paused',
    why: 'a repair',
    waits: [{ kind: 'status', text: expect.stringContaining('until it is resumed') }],
  });
  const waiting = troupe.run(KEY, 'echo waited');
  await eventually(async () => {
    const { stash } = await call('actors.show', { actor });
    expect(stash).toMatchObject([{ type: 'session.receive' }]);
  });
  expect(await call('actors.pause', { actor, why: 'twice' })).toEqual({ status: 'paused' });
  expect(await call('actors.resume', { actor })).toEqual({ status: 'active' });
  expect(JSON.stringify(await waiting)).toContain('waited');
  await call('actors.quarantine', { actor, why: 'a test' });
  await expect(call('actors.pause', { actor, why: 'no' })).rejects.toThrow('CONFLICT');
});

it('restarts a stopped actor, which cannot be resumed', async () => {
  const troupe = await install({ config: {} });
  const call = await operatorOf(troupe);
  await troupe.run(KEY, 'echo hello');
  expect(await call('actors.stop', { actor })).toEqual({ status: 'stopped' });
  await expect(call('actors.resume', { actor })).rejects.toThrow('CONFLICT');
  expect(await call('actors.restart', { actor })).toEqual({ status: 'active' });
  await troupe.run(KEY, 'echo again');
});

it('erases the history of an actor, with and without bodies, and what follows is kept', async () => {
  const troupe = await install({ config: {} });
  const call = await operatorOf(troupe);
  const inputs = async (of: string) =>
    (await call('actors.history', { actor: of })).turns.map(
      ({ input }: { input: string }) => input,
    );
  // The first message is the title of the session, which is state.
  await troupe.run(KEY, 'echo first');
  for (const each of [actor, 'default/agent/main']) {
    await troupe.run(KEY, 'echo secret');
    await eventually(async () => expect((await inputs(each)).length).toBeGreaterThan(0));
    expect(await call('actors.eraseHistory', { actor: each })).toEqual({ status: 'active' });
    expect((await inputs(each)).filter((input: string) => input.startsWith('sys.'))).toEqual([]);
  }
  // Of a session, bodies are kept: nothing of them can be read or replayed.
  await call('actors.eraseHistory', { actor });
  expect(await inputs(actor)).toEqual([]);
  await expect(call('actors.recording', { actor })).rejects.toThrow('NOT_FOUND');
  await troupe.run(KEY, 'echo later');
  const kept = await call('actors.recording', { actor });
  const bytes = Buffer.from(kept.bytes, 'base64').toString('latin1');
  expect(bytes).toContain('echo later');
  expect(bytes).not.toContain('echo secret');
});

it('sends an event by hand, which the machine of the actor applies', async () => {
  const troupe = await install({ config: {} });
  const call = await operatorOf(troupe);
  await troupe.run(KEY, 'echo hello');
  const { sessionId } = await call('sessions.show', { key: KEY });
  const sent = { actor, type: 'session.reset', fields: { reason: 'by hand' } };
  expect(await call('actors.send', sent)).toEqual({ id: expect.any(String) });
  await eventually(async () => {
    expect((await call('sessions.show', { key: KEY })).sessionId).not.toBe(sessionId);
  });
});

it('refuses events of the runtime, invalid fields, and actors that do not exist', async () => {
  const troupe = await install({ config: {} });
  const call = await operatorOf(troupe);
  await troupe.run(KEY, 'echo hello');
  for (const type of ['sys.stop', 'xstate.init', 'supervision.down', 'no type'])
    await expect(call('actors.send', { actor, type })).rejects.toThrow('INVALID_ARGUMENT');
  for (const fields of ['text', [1], { type: 'session.reset' }, { meta: {} }])
    await expect(call('actors.send', { actor, type: 'session.reset', fields })).rejects.toThrow(
      'INVALID_ARGUMENT',
    );
  const none = { actor: 'default/session/agent:main:none' };
  for (const [name, more] of [
    ['send', { type: 'session.reset' }],
    ['resume', {}],
    ['restart', {}],
    ['quarantine', { why: 'a test' }],
  ] as const)
    await expect(call(`actors.${name}`, { ...none, ...more })).rejects.toThrow('NOT_FOUND');
  await expect(call('actors.show', none)).rejects.toThrow('NOT_FOUND');
  await expect(call('actors.stop', { actor: 'acme/session/x' })).rejects.toThrow('NOT_FOUND');
});
