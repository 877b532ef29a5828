/**
 * `import ... from 'troupe/agents'`: the assistant platform in a program of your own: agents,
 * sessions, tools, models, channels and the gateway.
 */
export { type StartOptions, startTroupe, type Troupe } from './start-troupe.ts';
export { agentAddress, sessionAddress } from '../actors/addresses.ts';
export { sessionKey } from '../protocols/session-key.ts';
export { ConfigError } from '../runtime/config/checks/problems.ts';
export {
  defineTool,
  type Tool,
  type ToolContext,
  type ToolQuestion,
  type ToolResult,
} from '../agent/tools/tool.ts';
export {
  type ActionContext,
  type ActionDefinition,
  type ActionOptions,
  defineAction,
  inputRequired,
  withLinks,
} from '../actors/task/action.ts';
export {
  defineProcess,
  type ProcessDefinition,
  type ProcessOptions,
} from '../actors/process/define.ts';
export { defineHooks, type HookModule } from '../agent/hooks/define-hooks.ts';
export type {
  HookAbout,
  HookEvent,
  HookHandlers,
  HookName,
  HookResult,
} from '../agent/hooks/hooks.ts';
export type { ModelMessage, ModelRequest, ModelStop, ModelUsage } from '../agent/models/model.ts';
export { type DrawnTrace, drawTrace } from '../compose/run-trace.ts';
export type { RunTrace } from '../protocols/run-trace.ts';
export type { RunRow, SessionRow } from '../protocols/session.ts';
export type { SubagentRow } from '../protocols/subagent.ts';
export type { ConversationRow } from '../protocols/conversation.ts';
export type { TaskView } from '../protocols/task.ts';
