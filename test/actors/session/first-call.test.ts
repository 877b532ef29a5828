/** The first model call of a run, which builds the prompt. */
import { describe, expect, it } from 'vitest';
import type { AssembleOutput, CallModelInput } from '../../../actors/session/types.ts';
import type { ErrorData } from '../../../protocols/errors.ts';
import { answer, ASSEMBLED, call, Driven, resultOf } from './driven.ts';

const report = { sources: [], tokens: 1, tools: [], skills: [] };
const prompt = { system: 'Be brief.', report };
const withHooks: AssembleOutput = { digest: 'd1', prompt, replyHooks: true, endHooks: true };
const failure = (code: ErrorData['code']): ErrorData => ({ code, message: 'the provider failed' });

const begun = () => {
  const session = new Driven();
  session.begin('r1');
  return session;
};
const callOf = (session: Driven) => session.started.get('model') as CallModelInput;

describe('the first model call of a run', () => {
  it('starts in the turn of the admission, and builds the prompt', () => {
    const session = begun();
    expect(session.state).toEqual({ running: { working: 'thinking' } });
    const assemble = { text: 'text of r1', isFirst: true, sessionId: session.context.sessionId };
    expect(callOf(session)).toMatchObject({ runId: 'r1', entries: 1, assemble });
  });

  it('leaves the prompt before its answer, and later calls do not build it again', () => {
    const session = begun();
    const assembled = { ...withHooks, prepend: 'Remember.' };
    const { entries } = session.done('model', { ...answer([call('a')]), assembled });
    expect(entries.map(({ type }) => type)).toEqual(['prompt', 'assistant']);
    session.done('tools', [resultOf('a')]);
    expect(callOf(session)).toMatchObject({ entries: 4, call: 1, prepend: 'Remember.' });
    expect(callOf(session).assemble).toBeUndefined();
  });

  it('keeps the prompt when it fails after that, and is repeated without building it', () => {
    const session = begun();
    const { entries } = session.done('model', {
      assembled: withHooks,
      failure: failure('UNAVAILABLE'),
    });
    expect(entries).toMatchObject([{ type: 'prompt', digest: 'd1' }]);
    expect(session.state).toEqual({ running: { working: 'backingOff' } });
    session.fire('retryBackoff');
    expect(callOf(session)).toMatchObject({ entries: 2, isRepeat: true });
    expect(callOf(session).assemble).toBeUndefined();
  });

  it('passes its failure to the hooks of the reply', () => {
    const session = begun();
    session.done('model', { assembled: withHooks, failure: failure('UNAUTHORIZED') });
    expect(session.state).toEqual({ running: 'replying' });
    expect(session.started.get('reply')).toMatchObject({ error: { code: 'UNAUTHORIZED' } });
  });

  it('names the failure of its model when the time of the run is up between two attempts', () => {
    const session = begun();
    session.done('model', { assembled: withHooks, failure: failure('UNAVAILABLE') });
    const { message } = failure('UNAVAILABLE');
    session.fire('runTimeout');
    session.done('reply', { text: '' });
    expect(session.rows.get('r1')?.error).toEqual({
      code: 'DEADLINE_EXCEEDED',
      message: expect.stringMatching(
        new RegExp(`took longer than \\d+ ms; .*\\(attempts: 1\\): ${message}$`),
      ),
    });
  });

  it('bug: a run whose time was up in its first call ended without its hooks', () => {
    const session = begun();
    session.fire('runTimeout');
    expect(session.state).toEqual({ running: 'replying' });
    session.done('reply', { text: '' });
    expect(session.context).toMatchObject({ isFresh: false, endHooks: true });
  });

  it('bug: the session began again for hooks after its first call was aborted', () => {
    const session = begun();
    session.send({ type: 'session.abort' });
    session.begin('r2');
    expect(callOf(session)).toMatchObject({ runId: 'r2', assemble: { isFirst: false } });
  });

  it('is repeated after the prompt was built apart, when it could not be built', () => {
    const session = begun();
    session.fail('model', failure('UNAVAILABLE'));
    session.fire('retryBackoff');
    expect(session.state).toEqual({ running: { working: 'assembling' } });
    session.done('prompt', ASSEMBLED);
    expect(callOf(session).assemble).toBeUndefined();
    session.done('model', answer([]));
    expect(session.rows.get('r1')).toMatchObject({ status: 'ok' });
  });

  it('does not take place when a limit is reached, and hooks see the end of the run', () => {
    const session = new Driven();
    session.begin('r1', { limits: { tokensPerSession: 0 } });
    expect(session.state).toEqual({ running: { working: 'assembling' } });
    session.done('prompt', withHooks);
    expect(session.state).toEqual({ running: 'replying' });
    expect(session.started.has('model')).toBe(false);
  });

  it('follows what waits: messages of users have runs of their own', () => {
    const session = new Driven();
    session.receive('r1');
    session.receive('r2');
    session.admit('r1');
    expect(session.context).toMatchObject({ queue: [{ runId: 'r2', mode: 'followup' }] });
    expect(callOf(session)).toMatchObject({ runId: 'r1', entries: 1 });
  });
});
