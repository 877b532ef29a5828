/** Pipeline: agents work on a text one after the other, each on the result of the previous one. */
import { call, type Pattern } from '../pattern.ts';

const text = 'troupe gives agents a memory that outlives the machine';

const send = (agentId: string, message: string) =>
  call('sessions_send', { sessionKey: `agent:${agentId}:main`, message });

export const pipeline: Pattern = {
  agentId: 'main',
  said: `Take this sentence: "${text}". Send it to the agent writer and ask for a headline made of it.
Send the headline to the agent editor and ask for a shorter one. Send that to the agent translator and
ask for it in Vietnamese. Then tell me the result. Each of them answers REPLY_SKIP to your thanks.`,
  saidOffline: [
    send('writer', `Write a headline: ${text} [[words:8]]`),
    send('editor', 'Make it shorter: {{result}} [[words:5]]'),
    send('translator', 'Translate it: {{result}} [[words:6]]'),
  ].join(' then '),
};
