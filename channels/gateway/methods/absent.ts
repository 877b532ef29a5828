/**
 * Methods that return empty results for features that troupe does not have.
 * protocols/gateway/absent.ts explains why each of them is served.
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
