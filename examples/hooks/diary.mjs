/**
 * Appends a line per run to a file beside this one, and adds a sentence about it to the reply. A
 * run that is repeated after a crash appends its line again, with the same run id.
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
