/**
 * Lists of things that troupe has none of (protocols/gateway/absent.ts says why each is served).
 */
import { type MethodTable, published } from './method.ts';

export const absentTable: MethodTable = [
  published('question.list', () => ({ questions: [] })),
  published('plugin.approval.list', () => []),
  published('openclaw.approval.list', () => []),
  published('exec.approvals.get', () => ({
    path: 'exec-approvals.json',
    exists: false as const,
    hash: 'none',
    file: { version: 1 as const },
  })),
  published('last-heartbeat', () => null),
];
