/**
 * Prompt: input and result of building the prompt of a run, which its first model call does. Pure.
 */
import {
  type ActionArgs,
  type ActionResult,
  defined,
  nowOf,
  outputOf,
  runOf,
} from '../action-result.ts';
import * as rows from '../rows.ts';
import { admitterOf } from '../subagents/subagent-limits.ts';
import type {
  AssembleInput,
  AssembleOutput,
  CallModelFailure,
  CallModelOutput,
  PromptWanted,
  SessionContext,
} from '../types.ts';

/** `provider/model` that a call asks first; undefined: the catalog's default. */
export const modelOf = ({ run, own, settings }: SessionContext): string | undefined =>
  run?.model ?? own.model ?? settings?.model;

/** Nothing when the transcript holds the prompt of the run. */
export const promptWanted = (context: SessionContext): PromptWanted => {
  const { sessionId, digest, isFresh, terms, ended: past } = context;
  const { text, extraSystemPrompt, standing } = runOf(context);
  return {
    ...(standing ? { standing: { agent: admitterOf(context), id: standing } } : {}),
    sessionId,
    text,
    isFirst: isFresh,
    ...(terms ? { isSubagent: true, parent: terms.parent } : {}),
    ...defined({ extraSystemPrompt, digest, ended: past }),
  };
};

export const assembleInput = ({ context }: { context: SessionContext }): AssembleInput => {
  const { tenant, agentId, sessionKey, settings } = context;
  const { runId } = runOf(context);
  return {
    tenant,
    agentId,
    sessionKey,
    runId,
    settings: settings!,
    ...promptWanted(context),
    ...defined({ model: modelOf(context) }),
  };
};

/** The prompt was built: by its own effect, or by the run's first model call. */
export function onPrompt({ context, event }: ActionArgs): ActionResult {
  const output = outputOf<AssembleOutput | CallModelOutput | CallModelFailure>(event);
  const made = 'digest' in output ? output : output.assembled;
  if (!made) return {};
  const { digest, prompt, prepend, replyHooks, endHooks } = made;
  const now = nowOf(event);
  const added = prompt ? 1 : 0;
  const { standing: _, ...run } = runOf(context);
  const { runId, entries } = run;
  const change = {
    digest,
    isFresh: false,
    ...(context.ended ? { ended: null } : {}),
    ...(endHooks || context.endHooks ? { endHooks: endHooks ?? false } : {}),
    length: context.length + added,
    run: {
      ...run,
      text: '',
      isAssembled: true,
      attempt: 0,
      replyHooks,
      entries: entries + added,
      ...(prepend ? { prepend } : {}),
    },
  };
  if (!prompt) return { change };
  return {
    change,
    entries: [{ type: 'prompt', runId, digest, ...prompt, at: now }],
    rows: [rows.sessionRow({ ...context, ...change })],
  };
}
