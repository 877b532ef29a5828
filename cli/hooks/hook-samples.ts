/**
 * A sample event for each hook, for `troupe hooks test`. It is like the events of runs and of entry
 * points.
 */
import type { HookEvent, HookName } from '../../agent/hooks/hooks.ts';

const call = { name: 'exec', callId: 'call-1', args: { command: 'ls' } };
const sender = { id: '42', username: 'lan' };
const files = [
  { name: 'rows.csv', contentType: 'text/csv', bytes: 120, hash: '9f86d081'.repeat(8) },
];
const result = { result: 'README.md', isError: false };

export const hookSamples: { readonly [Name in HookName]: HookEvent<Name> } = {
  'agent:bootstrap': { files: [{ name: 'AGENTS.md', text: 'Be brief.' }] },
  command: { name: 'new', args: '', sender: 'operator' },
  before_agent_start: { prompt: 'What is new?', system: 'You are an assistant.' },
  agent_end: {
    status: 'ok',
    entries: [],
    usage: { inputTokens: 1_200, outputTokens: 80 },
    durationMs: 2_400,
  },
  before_compaction: { entries: 240, tokens: 180_000 },
  after_compaction: { summary: 'They looked at the files.', tokens: 12_000 },
  before_tool_call: call,
  after_tool_call: { ...call, ...result },
  tool_result_persist: { name: call.name, callId: call.callId, ...result },
  routeMessage: {
    message: {
      key: '1',
      kind: 'message',
      messageId: '1',
      chat: { kind: 'dm', id: sender.id },
      sender,
      text: 'What is new? #work',
      mentionsAccount: false,
    },
    channel: 'telegram',
    account: 'main',
    sender,
  },
  message_received: {
    text: 'What is new?',
    channel: 'telegram',
    account: 'main',
    sender: sender.id,
    images: [],
  },
  message_sending: { text: 'There is one file.', files, channel: 'telegram', account: 'main' },
  message_sent: {
    text: 'There is one file.',
    files,
    channel: 'telegram',
    account: 'main',
    outcome: 'sent',
  },
  session_start: { sessionId: '0f6d' },
  session_end: { sessionId: '0f6d', reason: 'reset' },
  gateway_start: { port: 18_789 },
  gateway_stop: { reason: 'troupe stops' },
};
