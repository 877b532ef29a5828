/** Discussion: two agents reply to each other in turn, until one has nothing to add. */
import { call, type Pattern } from '../pattern.ts';

const question = 'Should a small team begin with one service or with many?';

export const discussion: Pattern = {
  agentId: 'optimist',
  said: `Discuss this with the agent sceptic, over a few replies, and tell me where you agree: ${question}`,
  saidOffline: call('sessions_send', {
    sessionKey: 'agent:sceptic:main',
    message: `${question} [[turns:3]]`,
  }),
};
