/**
 * Writes a line per run to a file beside it, and says at the end of a reply that it did. A run that
 * is repeated after a crash writes its line again: the run's id tells that it is the same.
 */
import { appendFile } from 'node:fs/promises';

const file = new URL('./diary.jsonl', import.meta.url);

export default {
  name: 'diary',
  hooks: {
    async agent_end({ status, usage, durationMs }, { agentId, sessionKey, runId }) {
      const line = { runId, agentId, sessionKey, status, durationMs, ...usage };
      await appendFile(file, `${JSON.stringify(line)}\n`);
    },
    message_sending: ({ text }) => ({ text: `${text}\n\n(noted)` }),
  },
};
