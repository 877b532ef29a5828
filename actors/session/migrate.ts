/**
 * Migrate: converts the stored context of version 1 to the current version. Active runs continue;
 * version-1.ts converts the effects that they had recorded.
 */
import type { AgentSettings } from '../../protocols/agent.ts';
import type { ToolCall } from '../../protocols/session.ts';
import type { ActorDefinition } from '../../runtime/index.ts';
import type { Pending, Run, SessionContext } from './types.ts';
import { planOf1 } from './version-1.ts';

type Migrate = ActorDefinition['migrate'][number];

type Pending1 = Omit<Pending, 'mode'>;
type Run1 = Pending1 &
  Pick<Run, 'startedAt' | 'status' | 'entries' | 'calls' | 'attempt' | 'usage'> &
  Partial<Pick<Run, 'answer' | 'usedModel' | 'error'>> & {
    readonly settings?: AgentSettings;
    readonly tools?: readonly ToolCall[];
  };
type Context1 = Omit<SessionContext, 'queue' | 'run'> & {
  readonly queue: readonly Pending1[];
  readonly run: Run1 | null;
};

/** Version 1 had no planned calls, no prompt in the transcript, and one queue mode. */
export const withAgentLoop: Migrate = (row) => {
  const before = row.snap.c as Context1;
  const state = row.snap.v as { running?: { working?: unknown } | string };
  const working = typeof state.running === 'object' ? state.running.working : undefined;
  const context: SessionContext = {
    ...before,
    contextFrom: 1,
    digest: null,
    isFresh: before.length === 0,
    settings: before.run?.settings ?? null,
    own: {},
    queue: before.queue.map((pending) => ({ ...pending, mode: 'followup' })),
    folded: [],
    run: before.run ? runFrom(before.run, working !== undefined) : null,
    compaction: null,
    reset: null,
  };
  const value = working === 'acting' ? { running: { working: { acting: 'running' } } } : row.snap.v;
  return { ...row, snap: { ...row.snap, v: value, c: context } };
};

const runFrom = ({ settings: _, tools = [], ...run }: Run1, isAssembled: boolean): Run => ({
  ...run,
  joined: [],
  compactions: 0,
  isAssembled,
  replyHooks: false,
  planned: tools.map(planOf1),
  tools: [],
  sent: [],
});
