/**
 * Lists of things that troupe has none of (protocols/gateway/absent.ts says why each is served).
 */
import { type MethodTable, published } from './method.ts';

export const absentTable: MethodTable = [
  published('question.list', () => ({ questions: [] })),
  published('plugin.approval.list', () => []),
  published('openclaw.approval.list', () => []),
  published('last-heartbeat', () => null),
];
