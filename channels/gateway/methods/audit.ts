/** `audit.actions.list`: the audit records of a day, newest first. */
import { listAudit } from '../../../operations/audit.ts';
import type { TenantScope } from '../tenant/tenant-scope.ts';
import { type MethodTable, published } from './method.ts';

export const auditTable: MethodTable<TenantScope> = [
  published('audit.actions.list', ({ context }, params) => listAudit(context, params)),
];
