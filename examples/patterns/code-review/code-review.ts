/** Code review: two reviewers with different specialities review the same code in parallel. */
import { call, type Pattern } from '../pattern.ts';

const code = `export function greet(name) {
  document.body.innerHTML = 'Hello ' + name;
}`;

const ask = (agentId: string, message: string) =>
  call('sessions_send', { sessionKey: `agent:${agentId}:main`, message, context: code });

export const codeReview: Pattern = {
  agentId: 'author',
  said: `Give this code to the agents security and readability at once, each with one call, and ask what is
wrong with it in their field. Then sum up what they say.\n\n${code}`,
  saidOffline: [
    ask('security', 'Which input can harm users? [[words:6]]'),
    ask('readability', 'What is hard to read? [[words:6]]'),
  ].join(' and '),
};
