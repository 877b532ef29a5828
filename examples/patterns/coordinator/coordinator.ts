/** Coordinator: tasks go to specialists, of which each has the tools of its field and no others. */
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
