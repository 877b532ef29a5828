/** Blocks dangerous commands, and keeps texts that look like keys out of the transcript. */
import { defineHooks } from 'troupe/hooks';

const UNWANTED = [
  { pattern: /\brm\s+-\w*r/, why: 'removing folders is for people' },
  { pattern: /\bgit\s+push\b.*--force/, why: 'pushed history is not rewritten' },
];
const KEY = /\b(?:sk|ghp|xoxb)[-_][\w-]{16,}/g;

export default defineHooks({
  name: 'guard',
  priority: -10,
  hooks: {
    before_tool_call({ name, args }) {
      const { command } = args as { command?: unknown };
      if (name !== 'exec' || typeof command !== 'string') return undefined;
      const found = UNWANTED.find(({ pattern }) => pattern.test(command));
      return found && { block: found.why };
    },
    tool_result_persist: ({ result }) => ({ result: result.replaceAll(KEY, '[key]') }),
  },
});
