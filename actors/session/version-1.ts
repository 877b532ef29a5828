/**
 * Version 1: converts effects that version 1 recorded and that run again now, and outcomes that its
 * workers report. Version 1 had no planned calls and no prompt in the transcript. Pure.
 */
import type { ToolCall } from '../../protocols/session.ts';
import type { PlannedCall } from '../../agent/policy/planned-call.ts';
import type { CallModelInput, CallModelOutput, CallToolsInput } from './types.ts';

/** Tools of version 1 used no files or commands, so the converted call gets no access to any. */
export const planOf1 = (call: ToolCall): PlannedCall => ({
  ...call,
  class: 'repeatable',
  parallel: true,
  confinement: { sandboxed: true, workspaceAccess: 'none' },
});

/** The input of a model call as it is, or as version 1 recorded it. */
export const modelCallOf = (input: Since2<CallModelInput>): CallModelInput => ({
  ...input,
  from: input.from ?? 1,
  isCompacted: input.isCompacted ?? false,
  settings: input.settings ?? {
    agentId: input.agentId,
    timeoutMs: 600_000,
    runsMax: 1,
    tokensPerDay: 0,
  },
});
type Since2<Input extends CallModelInput> = Omit<Input, 'from' | 'isCompacted' | 'settings'> &
  Partial<Input>;

export const toolCallsOf = (input: CallToolsInput): CallToolsInput => ({
  ...input,
  calls: input.calls.map((call) => (call.confinement ? call : planOf1(call))),
});

/** The planned calls of an answer. Workers of version 1 planned none, so the calls are refused. */
export const planOf = ({ planned, calls }: CallModelOutput): readonly PlannedCall[] =>
  planned ??
  calls.map((call) => ({
    ...planOf1(call),
    refused: 'Not run: the program has changed. Call it again.',
  }));
