/** Prompt report: the contents of a session's prompt, by source. */

/** The sources of a prompt, shown by `troupe agent prompt --explain`. */
export type PromptReport = {
  readonly sources: readonly PromptSource[];
  /** estimated */
  readonly tokens: number;
  readonly tools: readonly string[];
  readonly skills: readonly string[];
  /** skills that are not included, and why */
  readonly problems?: readonly string[];
};
export type PromptSource = {
  /** `base`, `AGENTS.md`, `skills`, `runtime`, `extra`, … */
  readonly name: string;
  readonly characters: number;
  /** characters of the source before truncation */
  readonly cutFrom?: number;
  /** why it is not included */
  readonly left?: 'missing' | 'empty' | 'unreadable' | 'hook' | 'limit';
};
