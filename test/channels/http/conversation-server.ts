/** A real system whose conversations are behind real HTTP, for tests of the routes and commands. */
import { onTestFinished } from 'vitest';
import { agentAddress } from '../../../actors/index.ts';
import type { AgentRow } from '../../../protocols/agent.ts';
import {
  conversationAddress,
  type ConversationBegin,
  type ConversationRow,
  conversationRowKey,
  CONVERSATIONS_INDEX,
} from '../../../protocols/conversation.ts';
import { eventually } from '../../runtime/eventually.ts';
import { dataFolder, openRealSystem } from '../gateway/real-system.ts';
import { serveRoutes, testOperations } from './operation-server.ts';

export { SECRET } from './operation-server.ts';
export const MAIN = 'agent:main:main';
export const SECOND = 'agent:second:main';
const PERSON = { sub: 'ada', roles: ['operator'] };

export type ConversationServer = {
  /** `http://127.0.0.1:port` */
  readonly url: string;
  /** Starts one, from `main` to `second`, and waits until it has that status. */
  begin(
    id: string,
    status: ConversationRow['status'],
    more?: Partial<ConversationBegin>,
  ): Promise<ConversationRow>;
};

/**
 * The agent `main` is paused, so that its turns do not end; `second` answers. A caller with the
 * secret is the operator `op`.
 */
export async function openConversations(): Promise<ConversationServer> {
  const folder = dataFolder();
  const system = await openRealSystem(folder.path, 0);
  onTestFinished(async () => {
    await system.stop();
    folder.remove();
  });
  const pause = { type: 'agent.pause' };
  await system.tell(agentAddress('default', 'main'), pause, { principal: PERSON });
  await eventually(() => {
    const { status } = system.index.get<AgentRow>('agents', 'default', 'main')!;
    if (status !== 'paused') throw new Error(`main is ${status}`);
  });
  const { url } = await serveRoutes(testOperations({ system }));
  return {
    url,
    async begin(id, status, more = {}) {
      const event: ConversationBegin = {
        type: 'conversation.begin',
        requester: MAIN,
        requesterRunId: 'run-1',
        target: SECOND,
        text: 'How are you?',
        priority: 'normal',
        waitMs: 0,
        turns: 1,
        lineage: { hops: 1, visited: [MAIN], left: 10 },
        ...more,
      };
      await system.tell(conversationAddress('default', id), event, { principal: PERSON });
      return eventually(() => {
        const key = conversationRowKey(event.requester, id);
        const row = system.index.get<ConversationRow>(CONVERSATIONS_INDEX, 'default', key);
        if (row?.status !== status) throw new Error(`${id} is ${row?.status}`);
        return row;
      });
    },
  };
}
