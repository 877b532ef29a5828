/** The patterns by the names of their folders. */
import { codeReview } from './code-review/code-review.ts';
import { coordinator } from './coordinator/coordinator.ts';
import { delegation } from './delegation/delegation.ts';
import { discussion } from './discussion/discussion.ts';
import type { Pattern } from './pattern.ts';
import { pipeline } from './pipeline/pipeline.ts';
import { research } from './research/research.ts';

export const PATTERNS: Readonly<Record<string, Pattern>> = {
  delegation,
  pipeline,
  discussion,
  'code-review': codeReview,
  research,
  coordinator,
};
