/** Coordinator: tasks go to specialists, each of which has only the tools of its field. */
import { call, type Pattern } from '../pattern.ts';

const spawn = (agentId: string, task: string) =>
  call('sessions_spawn', { agentId, label: agentId, task, wait: true });

export const coordinator: Pattern = {
  agentId: 'coordinator',
  said: `Start the agents mathematician and timekeeper as subagents, both at once, and wait for them. The
first one is to calculate 17 * 23, the second one to look up the time. Then tell me both.`,
  saidOffline: [
    spawn('mathematician', call('calculate', { expression: '17 * 23' })),
    spawn('timekeeper', call('clock', {})),
  ].join(' and '),
};
