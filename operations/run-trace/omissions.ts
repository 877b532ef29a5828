/** Describes what a trace omits, one line each. */
import type { RunTrace } from '../../protocols/run-trace.ts';

export const omissionLines = ({ steps, deeper, sessions }: RunTrace['left']): readonly string[] => [
  ...(steps > 0 ? [`left out: ${steps} more steps`] : []),
  ...(deeper > 0 ? [`left out: ${deeper} messages and subagents that lie deeper`] : []),
  ...sessions.map((key) => `left out: what ${key} said before its newest entries`),
];
