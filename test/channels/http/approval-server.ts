/** A real system whose approvals are behind real HTTP, for tests of the routes and commands. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { shippedActors } from '../../../actors/index.ts';
import { approvalRoutes } from '../../../channels/http/approvals.ts';
import { routeListener } from '../../../channels/http/listener.ts';
import { header } from '../../../channels/http/route.ts';
import {
  type ApprovalAsk,
  type ApprovalRow,
  APPROVALS_INDEX,
  approvalAddress,
} from '../../../protocols/approval.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import { type AskAnswer, createSystem, openEmbedded, type System } from '../../../runtime/index.ts';
import { eventually } from '../../runtime/eventually.ts';

export const SECRET = 'the-operators-own';

export type ApprovalDoor = {
  readonly system: System;
  /** `http://127.0.0.1:port` */
  readonly url: string;
  readonly faults: string[];
  /** Asks, and waits until the question stands. The answer comes when a person decided. */
  ask(id: string, more?: Partial<ApprovalAsk>): Promise<{ answer: Promise<AskAnswer> }>;
};

/** Whoever shows the secret is the operator `op`. */
export async function openApprovals(): Promise<ApprovalDoor> {
  const path = mkdtempSync(join(tmpdir(), 'troupe-approvals-'));
  const ports = await openEmbedded({ path, durability: 'process' });
  const system = await createSystem({ ...ports, actors: shippedActors(), shards: 2 });
  const faults: string[] = [];
  const routes = approvalRoutes({
    system,
    operator: ({ request }) => {
      const given = header(request, 'authorization');
      if (given === `Bearer ${SECRET}`) return Promise.resolve({ sub: 'op' });
      return Promise.reject(
        given === undefined
          ? new TroupeError('UNAUTHORIZED', 'show the token of the gateway')
          : new TroupeError('FORBIDDEN', 'this is for operators'),
      );
    },
  });
  const listen = routeListener({
    routes,
    log: { error: (_: object, message: string) => void faults.push(message) },
  });
  const server = createServer((request, response) => {
    if (!listen(request, response)) response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.close();
    await system.stop();
    rmSync(path, { recursive: true, force: true });
  });
  const { port } = server.address() as AddressInfo;
  return {
    system,
    url: `http://127.0.0.1:${port}`,
    faults,
    async ask(id, more = {}) {
      const event: ApprovalAsk = { type: 'approval.ask', title: `May I ${id}?`, ...more };
      const principal = { sub: 'ada', roles: ['agent'] };
      const to = approvalAddress('default', id);
      const answer = system.ask(to, event, { principal, timeoutMs: 30_000 });
      await eventually(() => {
        if (!system.index.get<ApprovalRow>(APPROVALS_INDEX, 'default', id))
          throw new Error(`${id} is not asked yet`);
      });
      return { answer };
    },
  };
}
