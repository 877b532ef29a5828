/** The entry point of the actors: the shipped types, and the addresses of their instances. */
import { erasureEffects } from './erasure/effects/erasure-effects.ts';
import { erasureMachine } from './erasure/machine.ts';
import { legalHoldMachine } from './legal-hold/machine.ts';
import { retentionEffects } from './retention/effects/retention-effects.ts';
import { retentionMachine } from './retention/machine.ts';
import { type ActorDefinition, defineActor } from '../runtime/index.ts';
import { agentMessageEffects } from './agent-message/effects.ts';
import { agentMessageMachine } from './agent-message/machine.ts';
import { agentMachine } from './agent/machine.ts';
import { withCosts } from './agent/migrate.ts';
import { approvalMachine } from './approval/machine.ts';
import { auditMachine } from './audit/machine.ts';
import { budgetMachine } from './budget/machine.ts';
import { channelMachine } from './channel/machine.ts';
import { connect, edit, follow, reconcile, send } from './chat/effects/messengers.ts';
import { prepare } from './chat/effects/prepare.ts';
import { report } from './chat/effects/report.ts';
import { chatMachine } from './chat/machine.ts';
import { conversationMachine } from './conversation/machine.ts';
import { counterMachine } from './counter/machine.ts';
import { deviceMachine } from './device/machine.ts';
import { documentMachine } from './document/machine.ts';
import { batchEffects } from './embedding-batch/effects/batch-effects.ts';
import { embeddingBatchMachine } from './embedding-batch/machine.ts';
import { keyringMachine } from './keyring/machine.ts';
import { checkSpecs } from './listing/effects/check-specs.ts';
import { listingMachine } from './listing/machine.ts';
import { registryMachine } from './registry/machine.ts';
import { list } from './mcp-server/list.ts';
import { mcpServerMachine } from './mcp-server/machine.ts';
import { notificationMachine } from './notification/machine.ts';
import { post } from './notification/webhook.ts';
import { processMachine } from './process/machine.ts';
import { conclude, plan } from './process/plan.ts';
import { remoteCallEffects } from './remote-call/effects.ts';
import { remoteCallMachine } from './remote-call/machine.ts';
import { pushEffects } from './push/effects.ts';
import { pushMachine } from './push/machine.ts';
import { assemble } from './session/effects/assemble.ts';
import { callModel } from './session/effects/call-model.ts';
import { callOnce } from './session/effects/call-once.ts';
import { callKeyed, callTools } from './session/effects/call-tools.ts';
import { compact } from './session/effects/compact.ts';
import { copy } from './session/effects/copy.ts';
import { endSession } from './session/effects/end-session.ts';
import { reply } from './session/effects/reply.ts';
import { look } from './schedule/effects/look.ts';
import { scheduleMachine } from './schedule/machine.ts';
import { withPlaces } from './schedule/migrate.ts';
import { sequenceMachine } from './sequence/machine.ts';
import { sessionHistory } from './session/history-kept.ts';
import { sessionMachine } from './session/machine.ts';
import { withAgentLoop } from './session/migrate.ts';
import { subagentMachine } from './subagent/machine.ts';
import { supervisionActors } from './supervision-actors.ts';
import { check } from './task/effects/check.ts';
import { choose } from './task/effects/choose.ts';
import { compensate } from './task/effects/compensate.ts';
import { perform, performOnce } from './task/effects/perform.ts';
import { taskMachine } from './task/machine.ts';

export type { AgentServices } from '../agent/services.ts';
export {
  defineTool,
  type Tool,
  type ToolContext,
  type ToolResult,
} from '../agent/tools/tool.ts';
export { ProcessCatalog } from './process/catalog.ts';
export {
  actionOf,
  defineProcess,
  type ProcessDefinition,
  type ProcessOptions,
} from './process/define.ts';
export {
  type ActionContext,
  type ActionDefinition,
  type ActionOptions,
  defineAction,
  inputRequired,
  specOf,
  withLinks,
} from './task/action.ts';
export { ActionCatalog, etaSecOf, termsOf } from './task/catalog.ts';
export type { TaskLabels, TaskServices } from './task/services.ts';

export { agentAddress, sessionAddress, supervisorAddress } from './addresses.ts';
export { rootAddress } from '../protocols/supervision.ts';

/**
 * The definitions of the types that ship, for `createSystem({ actors })`; its `services` must be
 * AgentServices & TaskServices and its `supervisor` rootAddress('default').
 */
export const shippedActors = (): ActorDefinition[] => [
  ...conversationActors(),
  ...outsideActors(),
  ...memoryActors(),
  ...channelActors(),
  ...taskActors(),
  ...retentionActors(),
  ...pushActors(),
  ...factoryActors(),
];

const sessionEffects = {
  assemble,
  callModel,
  callTools,
  callKeyed,
  callOnce,
  compact,
  copy,
  reply,
  endSession,
};

/** Who talks with people, and who looks after the others. */
const conversationActors = (): ActorDefinition[] => [
  ...supervisionActors(),
  defineActor({ type: 'agent', version: 2, machine: agentMachine, migrate: { 1: withCosts } }),
  // A failed budget resumes: a restart would grant the day's budget a second time.
  defineActor({
    type: 'budget',
    version: 1,
    machine: budgetMachine,
    supervision: { onThrow: 'resume' },
  }),
  defineActor({
    type: 'session',
    version: 4,
    machine: sessionMachine,
    // version 2 built the prompts of its runs apart from their first model call; 3 had no forks
    migrate: { 1: withAgentLoop, 2: (row) => row, 3: (row) => row },
    effects: sessionEffects,
    idleMs: 60_000,
    workTimers: ['runTimeout'],
    // one that is deleted; a message that comes later begins another under its key
    whenDone: 'forget',
    history: sessionHistory,
  }),
  // A failed conversation resumes: a restart would request a turn a second time.
  defineActor({
    type: 'conversation',
    version: 1,
    machine: conversationMachine,
    supervision: { onThrow: 'resume' },
    workTimers: ['patience', 'turnTime'],
    idleMs: 60_000,
    whenDone: 'forget',
  }),
  // A failed subagent resumes: a restarted one would never report its end.
  defineActor({
    type: 'subagent',
    version: 1,
    machine: subagentMachine,
    supervision: { onThrow: 'resume' },
    workTimers: ['wholeTime', 'stopPatience'],
    idleMs: 10_000,
    whenDone: 'forget',
  }),
  // A failed job resumes: a restart would lose its settings.
  defineActor({
    type: 'schedule',
    version: 2,
    machine: scheduleMachine,
    migrate: { 1: withPlaces },
    effects: { look },
    supervision: { onThrow: 'resume' },
    idleMs: 60_000,
    whenDone: 'forget',
  }),
];

/** Calls of agents to programs outside, and messages of such programs to agents. */
const outsideActors = (): ActorDefinition[] => [
  // A failed call resumes: a restart would call again.
  defineActor({
    type: 'remote-call',
    version: 1,
    machine: remoteCallMachine,
    effects: remoteCallEffects,
    supervision: { onThrow: 'resume' },
    workTimers: ['timeLimit'],
    idleMs: 10_000,
    whenDone: 'forget',
  }),
  defineActor({
    type: 'mcp-server',
    version: 1,
    machine: mcpServerMachine,
    effects: { list },
    supervision: { onThrow: 'resume' },
    idleMs: 10_000,
    whenDone: 'forget',
  }),
  // A failed message resumes: a restart would send it a second time.
  defineActor({
    type: 'agent-message',
    version: 1,
    machine: agentMessageMachine,
    effects: agentMessageEffects,
    supervision: { onThrow: 'resume' },
    workTimers: ['runTime'],
    idleMs: 10_000,
    whenDone: 'forget',
  }),
];

const memoryActors = (): ActorDefinition[] => [
  // A failed batch resumes: a restart would lose one that is paid.
  defineActor({
    type: 'embedding-batch',
    version: 1,
    machine: embeddingBatchMachine,
    effects: batchEffects,
    supervision: { onThrow: 'resume' },
    idleMs: 60_000,
    whenDone: 'forget',
  }),
];

/**
 * Messengers. After a failure they resume: a restart would lose approvals, positions and replies.
 */
const channelActors = (): ActorDefinition[] => [
  defineActor({
    type: 'channel',
    version: 1,
    machine: channelMachine,
    effects: { connect },
    supervision: { onThrow: 'resume' },
  }),
  defineActor({
    type: 'chat',
    version: 1,
    machine: chatMachine,
    effects: { prepare, send, reconcile, follow, edit, report },
    supervision: { onThrow: 'resume' },
    idleMs: 60_000,
  }),
];

/** Tasks, and what entry points of a tenant need: sequences, devices, keys, agents and audit. */
const taskActors = (): ActorDefinition[] => [
  // A short idle time, because a task receives only two or three messages in its life.
  defineActor({
    type: 'task',
    version: 1,
    machine: taskMachine,
    effects: { choose, perform, performOnce, check, compensate },
    supervision: { onThrow: 'resume' },
    workTimers: ['eta'],
    idleMs: 10_000,
    whenDone: 'forget',
  }),
  defineActor({
    type: 'sequence',
    version: 1,
    machine: sequenceMachine,
    supervision: { onThrow: 'resume' },
    whenDone: 'forget',
  }),
  // A failed device resumes: a restart would lose its approval.
  defineActor({
    type: 'device',
    version: 1,
    machine: deviceMachine,
    supervision: { onThrow: 'resume' },
    whenDone: 'forget',
  }),
  defineActor({ type: 'keyring', version: 1, machine: keyringMachine }),
  defineActor({ type: 'registry', version: 1, machine: registryMachine }),
  // A failed day of the audit resumes: a restart would lose its records.
  defineActor({
    type: 'audit',
    version: 1,
    machine: auditMachine,
    supervision: { onThrow: 'resume' },
  }),
  // A failed erasure resumes: a restart would lose which sessions it has to erase.
  defineActor({
    type: 'erasure',
    version: 1,
    machine: erasureMachine,
    effects: erasureEffects,
    supervision: { onThrow: 'resume' },
  }),
  // A failed hold resumes: a restart would release it.
  defineActor({
    type: 'legal-hold',
    version: 1,
    machine: legalHoldMachine,
    supervision: { onThrow: 'resume' },
    whenDone: 'forget',
  }),
  defineActor({
    type: 'listing',
    version: 1,
    machine: listingMachine,
    effects: { checkSpecs },
    whenDone: 'forget',
  }),
];

const retentionActors = (): ActorDefinition[] => [
  // A failed sweeper resumes: a restart would lose what it has removed, before its receipt.
  defineActor({
    type: 'retention',
    version: 1,
    machine: retentionMachine,
    effects: retentionEffects,
    supervision: { onThrow: 'resume' },
    idleMs: 10_000,
  }),
];

/** Push notifications. A failed one resumes: a restart would lose its configuration. */
const pushActors = (): ActorDefinition[] => [
  defineActor({
    type: 'push',
    version: 1,
    machine: pushMachine,
    effects: pushEffects,
    supervision: { onThrow: 'resume' },
    idleMs: 10_000,
    whenDone: 'forget',
  }),
];

/** Processes and what the shipped agents work on. */
const factoryActors = (): ActorDefinition[] => [
  // These actors resume after a failure. The message that caused it becomes a dead letter, and an
  // operator may redrive it.
  defineActor({
    type: 'approval',
    version: 1,
    machine: approvalMachine,
    supervision: { onThrow: 'resume' },
    whenDone: 'forget',
  }),
  defineActor({
    type: 'document',
    version: 1,
    machine: documentMachine,
    supervision: { onThrow: 'resume' },
  }),
  defineActor({
    type: 'counter',
    version: 1,
    machine: counterMachine,
    supervision: { onThrow: 'resume' },
    whenDone: 'forget',
  }),
  defineActor({
    type: 'notification',
    version: 1,
    machine: notificationMachine,
    effects: { post: { class: 'keyed', run: post, timeoutMs: 30_000 } },
    supervision: { onThrow: 'resume' },
    whenDone: 'forget',
  }),
  defineActor({
    type: 'process',
    version: 1,
    machine: processMachine,
    effects: {
      plan: { class: 'repeatable', run: plan },
      conclude: { class: 'repeatable', run: conclude },
    },
    supervision: { onThrow: 'resume' },
    whenDone: 'forget',
  }),
];
