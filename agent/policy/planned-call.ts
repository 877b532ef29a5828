/** The decisions about one tool call, made and committed before it runs. */
import type { ToolCall } from '../../protocols/session.ts';

/** A tool call of a model, with the decisions made before it runs. */
export type PlannedCall = ToolCall & {
  /** the tool's own name, even when the model used an alias */
  readonly name: string;
  readonly class: 'repeatable' | 'keyed' | 'once';
  readonly parallel: boolean;
  /** the call does not run; the model receives this text as its result */
  readonly refused?: string;
  /** an operator must approve the call first; `pattern`: what `always` allows, '' for nothing */
  readonly question?: {
    readonly command: string;
    readonly detail: string;
    readonly pattern: string;
    readonly forMs: number;
  };
  readonly confinement: {
    readonly sandboxed: boolean;
    readonly workspaceAccess: 'ro' | 'rw' | 'none';
  };
};
