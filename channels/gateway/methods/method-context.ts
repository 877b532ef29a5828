/**
 * What methods receive with each request, for one tenant. Each group of methods declares the part
 * that it needs; only the method table and the tenant's gateway use the union of the parts.
 */
import type { ApprovalContext } from './approvals/approvals.ts';
import type { AgentRunContext } from './chat/agent.ts';
import type { ChatContext } from './chat/chat.ts';
import type { PageContext } from './chat/chat-more.ts';
import type { CronRunContext } from './cron/cron-jobs.ts';
import type { DeviceContext } from './devices/devices.ts';
import type { NodeCallContext } from './devices/node-calls.ts';
import type { NodeContext } from './devices/nodes.ts';
import type { ProcessContext } from './health.ts';
import type { OperationMethodContext } from './operations.ts';
import type { ResumeContext } from './resume.ts';
import type { SessionReadContext } from './sessions/session-reads.ts';
import type { SessionSettingContext } from './sessions/session-settings.ts';
import type { SessionWorkContext } from './sessions/session-work.ts';
import type { SetupContext } from './setup.ts';
import type { TaskContext } from './work.ts';

export type MethodContext = AgentRunContext &
  ApprovalContext &
  ChatContext &
  CronRunContext &
  DeviceContext &
  NodeCallContext &
  NodeContext &
  OperationMethodContext &
  PageContext &
  ProcessContext &
  ResumeContext &
  SessionReadContext &
  SessionSettingContext &
  SessionWorkContext &
  SetupContext &
  TaskContext;
