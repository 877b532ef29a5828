/**
 * Setup: the names that the session's chart uses: types, effects, actions, guards and delays. Each
 * action is implemented in one file: of the run and its queue (run.ts, admission.ts, prompt.ts,
 * queue.ts, batch.ts, compaction.ts, abort.ts, own-settings.ts), or of related sessions (spawn.ts,
 * children.ts, orphans.ts, conversation-waits.ts).
 */
import { setup } from 'xstate';
import { type ActorInput, effect, hostActions } from '../../protocols/statechart.ts';
import { action, type HostAction } from '../kit/handlers.ts';
import * as abort from './run/abort.ts';
import * as admission from './run/admission.ts';
import * as accept from './queue/accept.ts';
import * as batch from './run/batch.ts';
import * as children from './subagents/children.ts';
import * as compaction from './run/compaction.ts';
import { type ActionArgs, type ActionResult, nowOf, published, runOf } from './action-result.ts';
import * as fork from './fork.ts';
import * as imports from './import.ts';
import * as limits from './run/limits.ts';
import { adopt } from './subagents/orphans.ts';
import * as own from './own-settings.ts';
import * as queue from './queue/queue.ts';
import { onRefusal } from './subagents/refused-starts.ts';
import * as reports from './subagents/reports.ts';
import * as prompt from './run/prompt.ts';
import * as run from './run/run.ts';
import { spawn } from './subagents/spawn.ts';
import { agentWaitsForRun, mayAccept } from './subagents/subagent-limits.ts';
import type {
  AssembleInput,
  AssembleOutput,
  CallModelFailure,
  CallModelInput,
  CallModelOutput,
  CallToolsInput,
  CompactInput,
  CompactOutput,
  CopyInput,
  CopyOutput,
  EndSessionInput,
  ReplyInput,
  ReplyOutput,
  SessionContext,
  SessionEvent,
  ToolResult,
} from './types.ts';
import * as waits from './conversations/conversation-waits.ts';

/** Entries, events, messages, rows and replies, in this order. */
const does = (handler: (args: ActionArgs) => ActionResult) =>
  action(handler, ({ context, event }: ActionArgs, result) => {
    const {
      change,
      entries = [],
      events = [],
      rows = [],
      tells = [],
      answer,
      answers = [],
    } = result;
    const replies = answer ? [answer, ...answers] : answers;
    const send: readonly HostAction[] = [
      ...(entries.length > 0 ? [{ type: 'append', params: { entries } } as const] : []),
      ...events.map((body) => {
        const params = published(context, body, nowOf(event));
        return { type: 'publish', params } as const;
      }),
      ...tells.map((params) => ({ type: 'tell', params }) as const),
      ...rows.map((params) => ({ type: 'project', params }) as const),
      ...replies.map((params) => ({ type: 'reply', params }) as const),
    ];
    return { ...(change ? { change } : {}), send };
  });

export const sessionSetup = setup({
  types: {
    context: {} as SessionContext,
    events: {} as SessionEvent,
    input: {} as ActorInput,
  },
  actors: {
    assemble: effect<AssembleOutput, AssembleInput>(),
    callModel: effect<CallModelOutput | CallModelFailure, CallModelInput>(),
    callTools: effect<readonly ToolResult[], CallToolsInput>(),
    callKeyed: effect<readonly ToolResult[], CallToolsInput>(),
    callOnce: effect<readonly ToolResult[], CallToolsInput>(),
    compact: effect<CompactOutput, CompactInput>(),
    reply: effect<ReplyOutput, ReplyInput>(),
    endSession: effect<null, EndSessionInput>(),
    copy: effect<CopyOutput, CopyInput>(),
  },
  actions: {
    ...hostActions,
    receive: does(accept.receive),
    wait: does(accept.wait),
    waitFirst: does(accept.waitFirst),
    expire: does(accept.expire),
    refuseMessage: does(accept.refuse),
    begin: does(queue.begin),
    steer: does(queue.steer),
    askAdmission: does(admission.askAdmission),
    admit: does(admission.admit),
    beginStanding: does(admission.beginStanding),
    onRevoked: does(admission.onRevoked),
    returnSlot: does(admission.returnSlot),
    beginCall: does(run.beginCall),
    onPrompt: does(prompt.onPrompt),
    onModelAnswer: does(run.onModelAnswer),
    countAttempt: does(run.countAttempt),
    onReply: does(run.onReply),
    withholdReply: does(run.withholdReply),
    endOk: does(run.endOk),
    endFailed: does(run.endFailed),
    endLate: does(run.endLate),
    endAtCeiling: does(run.endAtCeiling),
    endAsRepeating: does(run.endAsRepeating),
    endInterrupted: does(abort.endInterrupted),
    end: does(run.end),
    skip: does(batch.skip),
    refuseCall: does(batch.refuseCall),
    askForDecision: does(batch.ask),
    withdrawQuestion: does(batch.withdrawQuestion),
    allow: does(batch.allow),
    deny: does(batch.deny),
    onResults: does(batch.onResults),
    onFailure: does(batch.onFailure),
    beginCompaction: does(compaction.begin),
    shorten: does(compaction.shorten),
    giveUpCompaction: does(compaction.giveUp),
    failCompaction: does(compaction.fail),
    askCompaction: does(compaction.ask),
    answerNothing: does(compaction.answerNothing),
    refuseCompaction: does(compaction.refuse),
    onCompaction: does(compaction.take),
    onCompactionFailure: does(compaction.onFailure),
    cancelCompaction: does(compaction.cancel),
    abort: does(abort.abort),
    askReset: does(abort.askReset),
    renew: does(abort.renew),
    askClose: does(abort.askClose),
    close: does(abort.close),
    refuseExpiry: does(abort.refuseExpiry),
    clearEnded: does(abort.clearEnded),
    refuseClosing: does(abort.refuseClosing),
    answerClosing: does(abort.answerClosing),
    askFork: does(fork.askFork),
    refuseFork: does(fork.refuseFork),
    onPage: does(fork.onPage),
    endFork: does(fork.endFork),
    failFork: does(fork.failFork),
    cancelFork: does(fork.cancelFork),
    onImportPage: does(imports.onImportPage),
    answerImport: does(imports.answerImport),
    endImport: does(imports.endImport),
    set: does(own.set),
    inject: does(own.inject),
    refuseInjection: does(own.refuseInjection),
    spawn: does(spawn),
    kill: does(children.kill),
    onSubagentEnded: does(children.onSubagentEnded),
    onRefusal: does(onRefusal),
    adopt: does(adopt),
    converse: does(waits.converse),
    onConversationAnswer: does(waits.onConversationAnswer),
    probe: does(waits.probe),
    cycle: does(waits.cycle),
  },
  guards: {
    mayAccept,
    hasRoom: accept.hasRoom,
    hasExpired: accept.hasExpired,
    interrupts: accept.interrupts,
    interjects: accept.interjects,
    agentWaitsForRun: (at) => agentWaitsForRun(at) && accept.hasRoom(at) && !accept.interrupts(at),
    hasSteeringOrReports: queue.hasSteeringOrReports,
    nextCollects: (at) => queue.nextCollects(at) || reports.reportsGather(at),
    hasWaiting: queue.hasWaiting,
    abortsAll: abort.abortsAll,
    abortsTheRun: abort.abortsTheRun,
    resetAsked: abort.resetAsked,
    closeAsked: abort.closeAsked,
    isUnused: abort.isUnused,
    hasEndHooksPending: abort.hasEndHooksPending,
    hasStanding: admission.hasStanding,
    isRevoked: admission.isRevoked,
    isOurRun: admission.isOurRun,
    admissionRefused: admission.admissionRefused,
    isNew: fork.isNew,
    hasMore: fork.hasMore,
    beginsImport: imports.beginsImport,
    isImported: imports.isImported,
    isAssembled: ({ context }) => context.run?.isAssembled ?? false,
    isAtCeiling: limits.isAtCeiling,
    endsUnassembled: (at) => limits.isAtCeiling(at) && !runOf(at.context).isAssembled,
    callFailed: run.callFailed,
    isRepeatingCalls: limits.isRepeatingCalls,
    wantsTools: run.wantsTools,
    isTooLong: compaction.isTooLong,
    mayPass: run.mayPass,
    hasShortened: compaction.hasShortened,
    knowsSettings: compaction.knowsSettings,
    hasCalls: batch.hasCalls,
    skipsCalls: (at) => batch.hasCalls(at) && queue.hasSteering(at),
    isRefusedCall: batch.isRefusedCall,
    needsApproval: batch.needsApproval,
    isOnce: batch.isOnce,
    isKeyed: batch.isKeyed,
    isAllowed: batch.isAllowed,
    isFromAsked: batch.isFromAsked,
    hasReplyHooks: run.hasReplyHooks,
  },
  delays: {
    runTimeout: ({ context }) => limits.runTimeoutMs(context),
    retryBackoff: run.retryBackoffMs,
    quiet: (at) => reports.quietMs(at.context, nowOf(at.event), queue.quietMs(at)),
    admissionPatience: 60_000,
  },
});
