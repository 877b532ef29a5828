/**
 * A parent on a real system: a session whose run is held by the offline model. Subagents are
 * started in its name, as a tool of the run would start them.
 */
import { sessionAddress } from '../../../actors/index.ts';
import type { RunRow } from '../../../protocols/session.ts';
import {
  type SpawnLimits,
  type SpawnResult,
  type SubagentRow,
  subagentRowKey,
  SUBAGENTS_INDEX,
} from '../../../protocols/subagent.ts';
import type { System } from '../../../runtime/index.ts';
import { eventually } from '../../runtime/eventually.ts';
import { terms } from './walk.ts';

export const MAIN = 'agent:main:main';
const RUN = 'parent-run';
export const PERSON = { sub: 'ada', roles: ['operator'] };

const limits: SpawnLimits = {
  depthMax: 3,
  concurrentMax: 2,
  perSessionMax: 20,
  perTreeMax: 100,
  tokensPerTree: 1_000_000,
  costPerTreeUsd: 0,
  hopsMax: 16,
  onParentReset: 'cascade',
};

export type Spawning = {
  /** default 60,000 */
  readonly timeoutMs?: number;
  readonly concurrentMax?: number;
};
export type Parent = {
  /** Returns the answer that the tool would receive. */
  spawn(id: string, task: string, more?: Spawning): Promise<SpawnResult>;
  row(id: string): SubagentRow | undefined;
  /** Waits until the row contains these fields. */
  rowWith(id: string, fields: Partial<SubagentRow>): Promise<SubagentRow>;
};

/** With a run that continues until the system stops. */
export async function holdParent(system: System): Promise<Parent> {
  const to = sessionAddress('default', MAIN);
  const message = { type: 'session.receive', runId: RUN, text: '[[stall:1]] wait' };
  await system.ask(to, message, { principal: PERSON, timeoutMs: 20_000, key: RUN });
  await eventually(() => {
    if (system.index.get<RunRow>('runs', 'default', RUN)?.status !== 'running')
      throw new Error('the run of the parent is active');
  });
  return parentOf(system);
}

/** The same parent after a restart. */
export function parentOf(system: System): Parent {
  const to = sessionAddress('default', MAIN);
  const row = (id: string) =>
    system.index.get<SubagentRow>(SUBAGENTS_INDEX, 'default', subagentRowKey(MAIN, id));
  return {
    row,
    async spawn(id, task, { timeoutMs = 60_000, concurrentMax = 2 } = {}) {
      const { parent: _, root: __, depth: ___, spawns: ____, ...asked } = terms;
      const answer = await system.ask(
        to,
        {
          type: 'session.spawn',
          id,
          runId: RUN,
          callId: `call-${id}`,
          task,
          terms: { ...asked, timeoutMs },
          limits: { ...limits, concurrentMax },
          wait: false,
          reportBack: true,
        },
        { principal: PERSON, timeoutMs: 20_000, key: `spawn-${id}` },
      );
      if (answer.kind !== 'answered') throw new Error(`no spawn: ${JSON.stringify(answer)}`);
      return answer.result as SpawnResult;
    },
    rowWith: (id, fields) =>
      eventually(() => {
        const found = row(id);
        const isSo = Object.entries(fields).every(
          ([name, value]) => found?.[name as keyof SubagentRow] === value,
        );
        if (!found || !isSo)
          throw new Error(`${JSON.stringify(found)} has not ${JSON.stringify(fields)}`);
        return found;
      }),
  };
}
