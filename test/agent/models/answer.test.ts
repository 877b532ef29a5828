import { describe, expect, it } from 'vitest';
import { Answer } from '../../../agent/models/answer.ts';

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
