/**
 * reply: passes the reply to hooks before it is published, and the end of the run. Runs only if
 * such a hook exists. `repeatable`: hooks may be called again.
 */
import type { EffectContext, EffectDefinition } from '../../../runtime/index.ts';
import type { HookAbout, Hooks } from '../../../agent/hooks/hooks.ts';
import { servicesOf } from '../../../agent/services.ts';
import type { ReplyInput, ReplyOutput } from '../types.ts';
import { outgoing } from './outgoing.ts';
import { entriesFrom, entryOf } from './transcript.ts';

/** Time limit of all hooks together; the reply waits for them. */
const TIMEOUT_MS = 60_000;

export const reply: EffectDefinition<ReplyInput, ReplyOutput> = {
  class: 'repeatable',
  timeoutMs: TIMEOUT_MS,
  async run(input, context) {
    const { hooks } = servicesOf(context);
    const { tenant, agentId, sessionKey, runId } = input;
    const about: HookAbout = { tenant, agentId, sessionKey, runId };
    if (hooks.has('agent_end')) await tellEnd(input, hooks, about, context);
    return { text: await outgoing({ text: input.text, ...input.chat }, hooks, about) };
  },
};

async function tellEnd(
  { status, usage, startedAt, error, runId, from }: ReplyInput,
  hooks: Hooks,
  about: HookAbout,
  context: EffectContext,
): Promise<void> {
  const read = await entriesFrom(context.transcript(), from);
  const entries = read.map(entryOf).filter((entry) => entry.runId === runId);
  const durationMs = Math.max(0, context.now() - startedAt);
  const event = { status, entries, usage, durationMs, ...(error ? { error } : {}) };
  await hooks.run('agent_end', event, about);
}
