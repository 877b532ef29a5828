/** What a session keeps between turns. Small: the conversation itself is the transcript. */
import type { Address } from '../../protocols/address.ts';
import type { AgentAdmitted, AgentRefused, AgentSettings } from '../../protocols/agent.ts';
import type { ErrorData } from '../../protocols/errors.ts';
import type {
  RunStatus,
  SessionAbort,
  SessionReceive,
  ToolCall,
  Usage,
} from '../../protocols/session.ts';
import type { Delivered } from '../../protocols/statechart.ts';

/** A message that waits for its run, and the run once it has begun. */
export type Pending = {
  readonly runId: string;
  readonly text: string;
  readonly sender?: string;
  readonly model?: string;
  readonly thinking?: string;
  readonly extraSystemPrompt?: string;
  readonly timeoutMs?: number;
  readonly acceptedAt: number;
};

export type Run = Pending & {
  readonly startedAt: number;
  readonly status: RunStatus;
  readonly settings?: AgentSettings;
  /** of this run in the transcript, so far */
  readonly entries: number;
  /** model calls answered so far; part of the ceiling on turns */
  readonly calls: number;
  /** failed attempts of the present call */
  readonly attempt: number;
  readonly usage: Usage;
  readonly tools?: readonly ToolCall[];
  readonly answer?: string;
  readonly usedModel?: string;
  readonly error?: ErrorData;
};

export type SessionContext = {
  readonly self: Address;
  readonly tenant: string;
  readonly sessionKey: string;
  readonly agentId: string;
  readonly sessionId: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** transcript entries appended so far */
  readonly length: number;
  readonly queue: readonly Pending[];
  readonly run: Run | null;
  readonly usage: Usage;
  readonly lastMessage: string;
};

export type SessionEvent =
  | Delivered<SessionReceive>
  | Delivered<SessionAbort>
  | Delivered<AgentAdmitted>
  | Delivered<AgentRefused>
  | Delivered<{ type: 'refused'; to: string; message: string; error: ErrorData }>;

export type CallModelInput = {
  readonly sessionKey: string;
  readonly tenant: string;
  readonly agentId: string;
  readonly runId: string;
  /**
   * entries of this run, the first of which is its `user` entry: the call reads up to the last of
   * them, whatever a relay is still carrying and whatever came before the session was restarted
   */
  readonly entries: number;
  /** number of this call in the run, from 0 */
  readonly call: number;
  readonly model?: string;
  readonly thinking?: string;
  readonly purpose?: string;
  readonly extraSystemPrompt?: string;
};
export type CallModelOutput = {
  readonly text: string;
  readonly reasoning?: string;
  readonly calls: readonly ToolCall[];
  readonly stop: string;
  readonly usage: Usage;
  readonly model: string;
  /** what the provider wants back with this answer; opaque */
  readonly continuation?: unknown;
};
export type CallToolsInput = {
  readonly sessionKey: string;
  readonly tenant: string;
  readonly runId: string;
  readonly calls: readonly ToolCall[];
};
export type ToolResult = {
  readonly callId: string;
  readonly name: string;
  readonly result: string;
  readonly isError: boolean;
};
