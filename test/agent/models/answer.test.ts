import { describe, expect, it } from 'vitest';
import { Answer } from '../../../agent/models/answer.ts';
import { askedIn } from '../../../agent/models/offline/tools.ts';

const continuation = { provider: 'p', model: 'm', blocks: [{ type: 'tool_use', id: 'c1' }] };

describe('a truncated answer', () => {
  it.each(['length', 'refusal'] as const)(
    'by %s within a call has neither the call nor its continuation',
    (stop) => {
      const answer = new Answer();
      answer.text('I look.');
      answer.openCall(0, 'c1', 'read');
      answer.callArgs(0, '{"path": "a');
      answer.continueWith(continuation);
      answer.stop(stop);
      answer.end();
      const done = answer.done();
      expect(done).toMatchObject({ text: 'I look.', calls: [], stop });
      expect(done.continuation).toBeUndefined();
    },
  );

  it('keeps its continuation when only the text is truncated', () => {
    const cut = new Answer();
    cut.continueWith(continuation);
    cut.stop('length');
    expect(cut.done().continuation).toEqual(continuation);
    const whole = new Answer();
    whole.openCall(0, 'c1', 'read');
    whole.continueWith(continuation);
    expect(whole.done()).toMatchObject({ stop: 'tools', continuation });
  });
});

it('has arguments that are nested too deep to be stored as text, which the tool refuses', () => {
  const nested = (depth: number) => `{"a":`.repeat(depth) + '1' + '}'.repeat(depth);
  const answer = new Answer();
  for (const [at, json] of [nested(64), nested(65), nested(100_000)].entries()) {
    answer.openCall(at, `c${at}`, 'write');
    answer.callArgs(at, json);
  }
  answer.stop('tools');
  answer.end();
  const { calls } = answer.done();
  expect(calls.map(({ args }) => typeof args)).toEqual(['object', 'string', 'string']);
});

it('of the offline model has arguments that are nested too deep as text', () => {
  const json = `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
  const write = { name: 'write', description: '', parameters: { type: 'object' } };
  expect(askedIn(`call write ${json}`, [write])).toMatchObject({
    rounds: [[{ name: 'write', args: json }]],
  });
});
