import { describe, expect, test } from 'vitest';
import {
  activeRun,
  type Conversation,
  emptyConversation,
  type History,
  type HistoryMessage,
  withAgentEvent,
  withChatEvent,
  withHistory,
  withSent,
} from '../../web/chat/conversation.ts';
import { linesOf } from '../../web/chat/reading-order.ts';

const user = (runId: string, text: string): HistoryMessage => ({
  role: 'user',
  runId,
  content: text,
});
const answer = (runId: string, text: string): HistoryMessage => ({
  role: 'assistant',
  runId,
  content: [{ type: 'text', text }],
});
const history = (messages: HistoryMessage[], more: Partial<History> = {}): History => ({
  messages: messages.map((message, at) => ({ id: String(at), ...message })),
  ...more,
});
const delta = (runId: string, text: string) => ({
  runId,
  state: 'delta',
  deltaText: text,
  message: { content: [{ text }] },
});
const final = (runId: string, text: string) => ({ ...delta(runId, text), state: 'final' });
const sent = (runId: string, text: string) => ({ runId, text, state: 'accepted' as const });

/** The items from top to bottom. */
const shown = (conversation: Conversation) =>
  linesOf(conversation).map((line) => {
    if (line.kind === 'history') return `${line.item.role} ${line.item.text}`;
    if (line.kind === 'sent') return `${line.queued ? 'queued' : 'sent'} ${line.sent.text}`;
    if (line.kind === 'aside') return `aside ${line.aside.text}: ${line.aside.answer}`;
    if (line.kind === 'subagent') return `subagent ${line.subagent.task}`;
    return `live ${line.run.text}`;
  });

describe('a conversation', () => {
  test('shows each message and each answer once, whatever its source', () => {
    let now = withSent(emptyConversation, sent('a', 'hi'));
    now = withChatEvent(now, delta('a', 'hel'));
    expect(shown(now)).toEqual(['sent hi', 'live hel']);
    now = withHistory(
      now,
      history([user('a', 'hi')], { inFlightRun: { runId: 'a', text: 'hell' } }),
    );
    expect(shown(now)).toEqual(['user hi', 'live hell']);
    now = withChatEvent(now, final('a', 'hello'));
    expect(shown(now)).toEqual(['user hi', 'live hello']);
    // The transcript may be a moment behind the end of the run.
    now = withHistory(now, history([user('a', 'hi')]));
    expect(shown(now)).toEqual(['user hi', 'live hello']);
    now = withHistory(now, history([user('a', 'hi'), answer('a', 'hello')]));
    expect(shown(now)).toEqual(['user hi', 'assistant hello']);
    expect(now.live).toEqual([]);
    expect(now.outbox).toEqual([]);
  });

  test('shows a message that a run sends once, in order, before the answer', () => {
    let now = withSent(emptyConversation, sent('a', 'hi'));
    now = withAgentEvent(now, { runId: 'a', stream: 'lifecycle', data: { phase: 'start' } });
    now = withChatEvent(now, final('a:message:4', 'one moment'));
    expect(shown(now).filter((line) => line.includes('one moment'))).toHaveLength(1);
    expect(activeRun(now)?.runId).toBe('a');
    const committed = [user('a', 'hi'), answer('a:message:4', 'one moment')];
    now = withHistory(now, history(committed, { inFlightRun: { runId: 'a', text: '' } }));
    expect(shown(now)).toEqual(['user hi', 'assistant one moment', 'live ']);
    now = withChatEvent(now, final('a', 'done'));
    expect(shown(now)).toEqual(['user hi', 'assistant one moment', 'live done']);
    now = withHistory(now, history([...committed, answer('a', 'done')]));
    expect(shown(now)).toEqual(['user hi', 'assistant one moment', 'assistant done']);
  });

  test('keeps an answer that ended while an older history was loading', () => {
    let now = withSent(emptyConversation, sent('a', 'hi'));
    now = withChatEvent(now, final('a', 'hello'));
    const older = history([user('a', 'hi')], { inFlightRun: { runId: 'a', text: '' } });
    expect(shown(withHistory(now, older))).toEqual(['user hi', 'live hello']);
    expect(activeRun(withHistory(now, older))).toBeUndefined();
  });

  test('shows an answer once when the history contains it before its last events arrive', () => {
    const read = history([user('a', 'hi'), answer('a', 'hello')]);
    const now = withHistory(emptyConversation, read);
    expect(shown(withChatEvent(now, final('a', 'hello')))).toEqual(['user hi', 'assistant hello']);
    const late = withChatEvent(now, delta('a', 'hel'));
    expect(shown(withChatEvent(late, final('a', 'hello')))).toEqual(['user hi', 'assistant hello']);
    // The same run continues after a message that joined it.
    expect(shown(withChatEvent(now, final('a', 'more')))).toEqual([
      'user hi',
      'assistant hello',
      'live more',
    ]);
  });

  test('shows an interruption once when the history contains it before its event arrives', () => {
    const end: HistoryMessage = {
      role: 'assistant',
      runId: 'a',
      content: [],
      stopReason: 'aborted',
    };
    const now = withHistory(emptyConversation, history([user('a', 'hi'), end]));
    expect(shown(withChatEvent(now, { runId: 'a', state: 'aborted' }))).toEqual([
      'user hi',
      'end ',
    ]);
    const late = withChatEvent(now, delta('a', 'half an'));
    expect(shown(withChatEvent(late, { runId: 'a', state: 'aborted' }))).toEqual([
      'user hi',
      'live half an',
      'end ',
    ]);
  });

  test('shows an answer after its own message, and waiting messages after that', () => {
    let now = withHistory(emptyConversation, history([user('a', 'one')]));
    now = withSent(withSent(now, sent('b', 'two')), sent('c', 'three'));
    now = withChatEvent(now, delta('a', 'first'));
    expect(shown(now)).toEqual(['user one', 'live first', 'queued two', 'queued three']);
    now = withChatEvent(withChatEvent(now, final('a', 'first!')), delta('b', 'second'));
    expect(shown(now)).toEqual([
      'user one',
      'live first!',
      'sent two',
      'live second',
      'queued three',
    ]);
    expect(activeRun(now)?.runId).toBe('b');
  });

  test('marks a message as waiting only if it is known: a reload shows the stored state first', () => {
    const kept = withSent(emptyConversation, sent('a', 'hi'));
    expect(shown(kept)).toEqual(['sent hi']);
    expect(shown(withHistory(kept, history([])))).toEqual(['queued hi']);
    expect(shown(withHistory(kept, history([user('a', 'hi')])))).toEqual(['user hi']);
  });

  test('removes a live answer that ended while the page was disconnected', () => {
    let now = withChatEvent(emptyConversation, delta('a', 'half'));
    now = withHistory(now, history([user('a', 'hi'), answer('a', 'whole')]));
    expect(shown(now)).toEqual(['user hi', 'assistant whole']);
    expect(activeRun(now)).toBeUndefined();
    now = withHistory(withChatEvent(now, delta('b', 'half')), history([]));
    expect(activeRun(now)).toBeUndefined();
  });

  test('keeps the text before an interruption of an answer, in order', () => {
    let now = withChatEvent(emptyConversation, delta('a', 'half an'));
    now = withChatEvent(now, { runId: 'a', state: 'aborted' });
    const end: HistoryMessage = {
      role: 'assistant',
      runId: 'a',
      content: [],
      stopReason: 'aborted',
    };
    const committed = [user('a', 'hi'), end, user('b', 'next')];
    for (let read = 0; read < 2; read++) {
      now = withHistory(now, history(committed));
      expect(shown(now)).toEqual(['user hi', 'live half an', 'end ', 'user next']);
    }
  });

  test('a tool call whose result is in the history already stays one card', () => {
    const result: HistoryMessage = {
      role: 'toolResult',
      runId: 'a',
      toolCallId: 'c',
      toolName: 'clock',
      content: 'noon',
    };
    const event = (data: { phase: string; result?: string }) => ({
      runId: 'a',
      stream: 'tool',
      data: { toolCallId: 'c', name: 'clock', ...data },
    });
    const loaded = withHistory(emptyConversation, history([user('a', 'hi'), result]));
    const late = withAgentEvent(loaded, event({ phase: 'result', result: 'noon' }));
    expect(late.live.flatMap(({ tools }) => tools)).toEqual([]);
    // providers use the ids of calls again
    const next = withAgentEvent(late, event({ phase: 'start' }));
    expect(next.live.flatMap(({ tools }) => tools)).toMatchObject([{ state: 'running' }]);
  });

  test('shows the steps of a run once, live or committed', () => {
    const data = { phase: 'start', toolCallId: 'c', name: 'clock' };
    let now = withHistory(emptyConversation, history([user('a', 'time?')]));
    now = withChatEvent(now, delta('a', 'Let me look.'));
    now = withAgentEvent(now, { runId: 'a', stream: 'tool', data });
    expect(now.live[0]?.tools).toEqual([
      { callId: 'c', name: 'clock', state: 'running', about: '', args: '' },
    ]);
    const call: HistoryMessage = {
      role: 'assistant',
      runId: 'a',
      content: [{ type: 'text', text: 'Let me look.' }, { type: 'toolCall' }],
    };
    const result: HistoryMessage = {
      role: 'toolResult',
      runId: 'a',
      toolCallId: 'c',
      toolName: 'clock',
      content: 'noon',
    };
    const read = history([user('a', 'time?'), call, result], {
      inFlightRun: { runId: 'a', text: 'Let me look.' },
    });
    now = withHistory(now, read);
    expect(shown(now)).toEqual(['user time?', 'assistant Let me look.', 'tool noon', 'live ']);
    expect(now.live[0]?.tools).toEqual([]);
    now = withChatEvent(now, { ...delta('a', 'Noon.'), replace: true });
    expect(shown(now).at(-1)).toBe('live Noon.');
  });

  test('replaces the whole text, with or without the text so far', () => {
    let now = withChatEvent(emptyConversation, delta('a', 'wrong'));
    now = withChatEvent(now, { runId: 'a', state: 'delta', deltaText: 'right', replace: true });
    now = withChatEvent(now, { runId: 'a', state: 'delta', deltaText: ' now' });
    expect(shown(now)).toEqual(['live right now']);
  });

  test.each([true, false])(
    'shows the answer of a command separately (acknowledged first: %s)',
    (first) => {
      const command = { ...sent('k', '/status'), command: true };
      let now = withHistory(emptyConversation, history([user('a', 'hi'), answer('a', 'hello')]));
      now = withSent(now, { ...sent('k', '/status'), state: 'sending' });
      if (first) now = withSent(now, command);
      now = withChatEvent(now, final('k', 'all is well'));
      if (!first) now = withSent(now, command);
      expect(shown(now)).toEqual(['user hi', 'assistant hello', 'aside /status: all is well']);
      expect(activeRun(now)).toBeUndefined();
      now = withHistory(now, history([user('a', 'hi'), answer('a', 'hello'), user('b', 'more')]));
      expect(shown(now).slice(1)).toEqual([
        'assistant hello',
        'aside /status: all is well',
        'user more',
      ]);
    },
  );

  test('shows the answer of a run once, also when a message joined it', () => {
    let now = withSent(emptyConversation, sent('a', 'one'));
    now = withSent(now, sent('b', 'two'));
    now = withChatEvent(now, final('a', 'both'));
    now = withChatEvent(now, { runId: 'b', state: 'final', stopReason: 'joined' });
    expect(shown(now).filter((line) => line.startsWith('live'))).toEqual(['live both']);
    now = withHistory(now, history([user('a', 'one'), user('b', 'two'), answer('a', 'both')]));
    expect(shown(now)).toEqual(['user one', 'user two', 'assistant both']);
  });

  test('shows the arguments of a tool in short, and marks it done only when it is', () => {
    let now = withSent(emptyConversation, sent('a', 'list'));
    const about = { toolCallId: 'c', name: 'exec' };
    const tool = (data: object) =>
      withAgentEvent(now, { runId: 'a', stream: 'tool', data: { ...about, ...data } });
    now = tool({ phase: 'start', args: { command: `ls ${'x'.repeat(200)}` } });
    now = tool({ phase: 'update' });
    const step = () => now.live[0]?.tools[0];
    expect(step()).toMatchObject({ state: 'running', about: `ls ${'x'.repeat(77)}…` });
    now = tool({ phase: 'result', isError: false });
    expect(step()).toMatchObject({ state: 'done', about: `ls ${'x'.repeat(77)}…` });
  });
});
