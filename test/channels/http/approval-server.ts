/** A real system whose approvals are behind real HTTP, for tests of the routes and commands. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { shippedActors } from '../../../actors/index.ts';
import {
  type ApprovalAsk,
  type ApprovalRow,
  APPROVALS_INDEX,
  approvalAddress,
} from '../../../protocols/approval.ts';
import { type AskAnswer, createSystem, openEmbedded, type System } from '../../../runtime/index.ts';
import { eventually } from '../../runtime/eventually.ts';
import { serveRoutes, testOperations } from './operation-server.ts';

export { SECRET } from './operation-server.ts';

export type ApprovalServer = {
  readonly system: System;
  /** `http://127.0.0.1:port` */
  readonly url: string;
  readonly faults: string[];
  /** Requests an approval and waits until it is pending. Resolves with the decision later. */
  ask(id: string, more?: Partial<ApprovalAsk>): Promise<{ answer: Promise<AskAnswer> }>;
};

export async function openApprovals(): Promise<ApprovalServer> {
  const path = mkdtempSync(join(tmpdir(), 'troupe-approvals-'));
  const ports = await openEmbedded({ path, durability: 'process' });
  const system = await createSystem({ ...ports, actors: shippedActors(), shards: 2 });
  onTestFinished(async () => {
    await system.stop();
    rmSync(path, { recursive: true, force: true });
  });
  const { url, faults } = await serveRoutes(testOperations({ system }));
  return {
    system,
    url,
    faults,
    async ask(id, more = {}) {
      const event: ApprovalAsk = { type: 'approval.ask', title: `May I ${id}?`, ...more };
      const principal = { sub: 'ada', roles: ['agent'] };
      const to = approvalAddress('default', id);
      const answer = system.ask(to, event, { principal, timeoutMs: 30_000 });
      await eventually(() => {
        if (!system.index.get<ApprovalRow>(APPROVALS_INDEX, 'default', id))
          throw new Error(`${id} is not pending yet`);
      });
      return { answer };
    },
  };
}
