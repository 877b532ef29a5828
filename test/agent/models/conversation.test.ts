import fc from 'fast-check';
import { expect, it } from 'vitest';
import { repairConversation, unfinishedCallText } from '../../../agent/models/conversation.ts';
import type { ModelMessage } from '../../../agent/models/model.ts';

const id = fc.constantFrom('a', 'b', 'c');
const call = id.map((one) => ({ id: one, name: 'clock', args: {} }));
const message: fc.Arbitrary<ModelMessage> = fc.oneof(
  fc.record({ role: fc.constant('user' as const), text: fc.constantFrom('', ' ', 'hello') }),
  fc.record({
    role: fc.constant('assistant' as const),
    text: fc.constantFrom('', 'hi'),
    calls: fc.uniqueArray(call, { selector: (one) => one.id, maxLength: 3 }),
  }),
  fc.record({
    role: fc.constant('tool' as const),
    callId: id,
    name: fc.constant('clock'),
    result: fc.string(),
    isError: fc.boolean(),
  }),
);

it('makes any history valid: one result after each call, and no empty message', () => {
  fc.assert(
    fc.property(fc.array(message, { maxLength: 12 }), (history) => {
      const repaired = repairConversation(history);
      let open: string[] = [];
      for (const one of repaired) {
        if (one.role === 'tool') {
          expect(open.shift()).toBe(one.callId);
          continue;
        }
        expect(open).toEqual([]);
        const calls = one.role === 'assistant' ? (one.calls ?? []) : [];
        expect(one.text.trim() !== '' || calls.length > 0).toBe(true);
        open = calls.map((each) => each.id);
      }
      expect(open).toEqual([]);
      expect(repairConversation(repaired)).toEqual(repaired);
    }),
  );
});

it('keeps a valid history unchanged', () => {
  const history: ModelMessage[] = [
    { role: 'user', text: 'time?' },
    { role: 'assistant', text: '', calls: [{ id: 'a', name: 'clock', args: {} }] },
    { role: 'tool', callId: 'a', name: 'clock', result: 'noon', isError: false },
    { role: 'assistant', text: 'Noon.' },
  ];
  expect(repairConversation(history)).toEqual(history);
});

it('accepts a result after an intermediate user message', () => {
  const history: ModelMessage[] = [
    {
      role: 'assistant',
      text: '',
      calls: [
        { id: 'a', name: 'clock', args: {} },
        { id: 'b', name: 'clock', args: {} },
      ],
    },
    { role: 'user', text: 'hurry' },
    { role: 'tool', callId: 'a', name: 'clock', result: 'noon', isError: false },
  ];
  expect(repairConversation(history)).toMatchObject([
    { role: 'assistant' },
    { role: 'tool', callId: 'a', result: 'noon' },
    { role: 'tool', callId: 'b', result: unfinishedCallText, isError: true },
    { role: 'user', text: 'hurry' },
  ]);
});

it('renames calls with duplicate ids, but keeps ids of the provider itself', () => {
  const origin = { provider: 'p', model: 'm' };
  const step = (result: string, own = false): ModelMessage[] => [
    {
      role: 'assistant',
      text: '',
      calls: [{ id: 'call_0', name: 'clock', args: {} }],
      ...(own ? { continuation: { ...origin, blocks: [] } } : {}),
    },
    { role: 'tool', callId: 'call_0', name: 'clock', result, isError: false },
  ];
  const repaired = repairConversation(
    [...step('one'), ...step('two', true), ...step('three')],
    origin,
  );
  const ids = repaired.flatMap((one) => (one.role === 'tool' ? [one.callId] : []));
  expect(new Set(ids).size).toBe(3);
  expect(ids[1]).toBe('call_0');
  const called = repaired.flatMap((one) => (one.role === 'assistant' ? (one.calls ?? []) : []));
  expect(called.map((one) => one.id)).toEqual(ids);
  expect(repairConversation(repaired, origin)).toEqual(repaired);
  expect(ids.every((one) => /^[\w-]{1,64}$/.test(one))).toBe(true);
});
