/** The final reply of a run. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { shapeReply } from '../../../actors/session/run/reply.ts';
import type { ReplyFacts, ToolSummary } from '../../../actors/session/types.ts';

const facts = (some: Partial<ReplyFacts>): ReplyFacts => ({
  status: 'ok',
  text: 'Done.',
  showReasoning: false,
  verbose: 'off',
  tools: [],
  sent: [],
  ...some,
});
const tool = (some: Partial<ToolSummary> = {}): ToolSummary => ({
  name: 'exec',
  about: 'ls -l',
  isError: false,
  ...some,
});
const failed = tool({ isError: true });
const sent = (text: string) => [{ to: 'ann', text }];

describe('the reply of a run', () => {
  const cases: [string, Partial<ReplyFacts>, string][] = [
    ['is the answer', { text: ' Done. \n' }, 'Done.'],
    ['does not show reasoning by default', { reasoning: 'hm' }, 'Done.'],
    [
      'begins with the reasoning if that is configured',
      { reasoning: 'one\ntwo', showReasoning: true },
      'Reasoning:\n> one\n> two\n\nDone.',
    ],
    [
      'has a line per tool when work is shown',
      { verbose: 'on', tools: [tool({ result: 'a.txt' }), failed] },
      '- exec: ls -l\n- exec: ls -l (failed)\n\nDone.',
    ],
    [
      'has results as well when all is shown',
      { verbose: 'full', tools: [tool({ result: 'a.txt\nb.txt\n' })] },
      '- exec: ls -l\n  a.txt\n  b.txt\n\nDone.',
    ],
    [
      'says that the model refused without text',
      { text: ' ', stop: 'refusal' },
      'The model refused to answer. Rephrase the message, or choose another model.',
    ],
    ['is the text of the refusal', { text: 'I may not.', stop: 'refusal' }, 'I may not.'],
    ['adds nothing to an answer that was cut off', { text: 'So', stop: 'length' }, 'So'],
    ['is silent for NO_REPLY', { text: 'NO_REPLY' }, ''],
    ['is silent for NO_REPLY with marks around it', { text: ' **NO_REPLY.** ' }, ''],
    ['is silent for a repeated NO_REPLY', { text: 'NO_REPLY\n\nNO_REPLY' }, ''],
    [
      'is silent for NO_REPLY though work is shown',
      { text: 'NO_REPLY', verbose: 'on', tools: [tool()] },
      '',
    ],
    ['drops the token at its end', { text: 'All is well.\n\nNO_REPLY' }, 'All is well.'],
    ['drops the token at its beginning', { text: 'NO_REPLY: all is well.' }, 'all is well.'],
    [
      'keeps the token in the middle of a sentence',
      { text: 'Answer NO_REPLY to be silent.' },
      'Answer NO_REPLY to be silent.',
    ],
    ['keeps a longer word', { text: 'NO_REPLYING is no word' }, 'NO_REPLYING is no word'],
    ['does not repeat what was sent', { text: ' Hello,\n Ann!', sent: sent('Hello, Ann!') }, ''],
    ['is silent after a message and NO_REPLY', { text: 'NO_REPLY', sent: sent('Hi') }, ''],
    ['is silent after a message without an answer', { text: '', sent: sent('Hi') }, ''],
    [
      'says what went wrong after a message',
      { status: 'error', text: '', sent: sent('Hi') },
      'The run failed.',
    ],
    [
      'leaves out the paragraph that was sent',
      { text: 'Hello Ann.\n\nI wrote to her.', sent: sent('Hello Ann.') },
      'I wrote to her.',
    ],
    [
      'contains a paragraph that differs from the sent one by one character',
      { text: 'Balance: -5', sent: sent('Balance: 5') },
      'Balance: -5',
    ],
    [
      'contains a paragraph that extends what was sent',
      { text: 'Hello Ann and Bob', sent: sent('Hello Ann') },
      'Hello Ann and Bob',
    ],
    [
      'names the tool that failed when there is no answer',
      { text: '', tools: [tool({ name: 'read' }), failed] },
      'The tool exec failed (ls -l), and the model gave no answer. Ask again, or open the run to see the error.',
    ],
    [
      'does not mention the failed tool when something was sent',
      { text: 'NO_REPLY', tools: [failed], sent: sent('It did not work') },
      '',
    ],
    ['does not mention a failed tool when there is an answer', { tools: [failed] }, 'Done.'],
    ['is silent when there is nothing at all', { text: '' }, ''],
    [
      'says what went wrong',
      { status: 'error', text: '', error: { code: 'UNAVAILABLE', message: 'no model answers' } },
      'The run failed: no model answers',
    ],
    [
      'has the text that preceded the failure',
      { status: 'timeout', text: 'So far' },
      'So far\n\nThe run exceeded its time limit.',
    ],
    ['is the text that preceded the abort', { status: 'aborted', text: 'So f' }, 'So f'],
    [
      'is silent when it was stopped with a failed tool',
      { status: 'aborted', text: '', tools: [failed] },
      '',
    ],
  ];
  it.each(cases)('%s', (_, some, text) => {
    expect(shapeReply(facts(some))).toEqual({ text, silent: text === '' });
  });

  const anyText = fc.string({ unit: 'binary' });
  it('never starts or ends with the token, is silent only when empty, and repeats no answer', () => {
    const token = fc.constantFrom('', 'NO_REPLY', '**NO_REPLY**', 'NO_REPLY\n');
    fc.assert(
      fc.property(
        token,
        anyText,
        token,
        fc.array(anyText, { maxLength: 3 }),
        (a, text, b, said) => {
          const reply = shapeReply(
            facts({
              text: `${a}\n${text}\n${b}`,
              sent: said.map((one) => ({ to: 'x', text: one })),
            }),
          );
          expect(reply.silent).toBe(reply.text === '');
          expect(reply.text).not.toMatch(/^NO_REPLY\b|\bNO_REPLY$/);
        },
      ),
    );
  });

  it('never repeats what was sent, however it is spaced', () => {
    const word = fc.stringMatching(/^[a-z]{1,8}$/);
    fc.assert(
      fc.property(
        fc.array(word, { minLength: 1 }),
        fc.constantFrom(' ', '  ', '\n', ' \t'),
        (list, gap) => {
          const reply = shapeReply(facts({ text: list.join(' '), sent: sent(list.join(gap)) }));
          expect(reply).toEqual({ text: '', silent: true });
        },
      ),
    );
  });
});
