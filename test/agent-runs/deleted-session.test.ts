/**
 * A deleted session in a whole installation: the list of sessions, its rows, and messages to it
 * afterwards.
 */
import { expect, it, onTestFinished } from 'vitest';
import { sessionAddress } from '../../actors/index.ts';
import { eventually } from '../runtime/eventually.ts';
import { startModelServer } from '../servers/model-server.ts';
import type { Plan } from '../servers/scripted-server.ts';
import { install, type Installation, providerOf } from './installation.ts';

const MAIN = 'agent:main:main';
const says = (text: string): Plan => ({ kind: 'answer', deltas: [text] });

const deleted = async (troupe: Installation): Promise<void> => {
  const session = sessionAddress('default', MAIN);
  const principal = { sub: 'ada', roles: ['operator'] };
  const answer = await troupe.system.ask(
    session,
    { type: 'session.close' },
    { principal, timeoutMs: 20_000 },
  );
  expect(answer).toMatchObject({ kind: 'answered', result: { closed: true } });
  await eventually(() => expect(troupe.sessionRow(MAIN)).toBeUndefined());
};

it('leaves the list; a later message starts a new session without its history', async () => {
  const server = await startModelServer({ api: 'openai-completions' });
  onTestFinished(() => server.close());
  const troupe = await install({
    config: { models: { providers: { p: providerOf('openai-completions', server) } } },
  });
  server.script(says('Noted.'), says('Which one?'), says('Green.'));
  await troupe.run(MAIN, 'my colour is vermilion');
  const before = troupe.sessionRow(MAIN)!;
  await deleted(troupe);
  const ended = await troupe.run(MAIN, 'what is my colour?');
  expect(ended.row).toMatchObject({ status: 'ok', text: 'Which one?' });
  const body = JSON.stringify(server.requests[1]?.body);
  expect(body).toContain('what is my colour?');
  expect(body).not.toContain('vermilion');
  expect(body).toContain('You are');
  const after = troupe.sessionRow(MAIN)!;
  expect(after.sessionId).not.toBe(before.sessionId);
  expect(after.usage).toEqual(before.usage);
  // the transcript stays readable for users
  expect(JSON.stringify(await troupe.transcript(MAIN))).toContain('vermilion');
  await troupe.run(MAIN, 'a green one');
  expect(JSON.stringify(server.requests[2]?.body)).toContain('what is my colour?');
  expect(JSON.stringify(server.requests[2]?.body)).not.toContain('vermilion');
});

it('aborts the active run and publishes its end once', async () => {
  const troupe = await install({ config: {} });
  const runId = await troupe.send(MAIN, 'hello [[words:2000]] [[pace:20]]');
  await eventually(() => expect(troupe.sessionRow(MAIN)?.status).toBe('running'));
  await eventually(() =>
    expect(troupe.events(MAIN).some(({ stream }) => stream === 'assistant')).toBe(true),
  );
  await deleted(troupe);
  expect(await troupe.rowAtEnd(runId)).toMatchObject({ status: 'aborted' });
  const ends = () => troupe.events(MAIN).filter((one) => 'phase' in one && one.phase === 'end');
  await eventually(() => expect(ends()).toHaveLength(1));
});
