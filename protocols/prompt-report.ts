/** Prompt report: what stands in the prompt of a session, by source. */

/** What a model is told, source by source: `troupe agent prompt --explain` (AL5). */
export type PromptReport = {
  readonly sources: readonly PromptSource[];
  /** estimated */
  readonly tokens: number;
  readonly tools: readonly string[];
  readonly skills: readonly string[];
  /** skills that are not there, and why */
  readonly problems?: readonly string[];
};
export type PromptSource = {
  /** `base`, `AGENTS.md`, `skills`, `runtime`, `extra`, … */
  readonly name: string;
  readonly characters: number;
  /** characters of the source before it was cut */
  readonly cutFrom?: number;
  /** why it is not there */
  readonly left?: 'missing' | 'empty' | 'unreadable' | 'hook' | 'limit';
};
