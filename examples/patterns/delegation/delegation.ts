/** Delegation: an agent delegates one task and waits for the result. */
import { call, type Pattern } from '../pattern.ts';

const task = 'Say in one sentence why the sky is blue.';

export const delegation: Pattern = {
  agentId: 'main',
  said: `Start a subagent with this task, wait for its result, and tell me what it found: ${task}`,
  saidOffline: call('sessions_spawn', { task: `${task} [[words:9]]`, label: 'sky', wait: true }),
};
