/**
 * Publishes changes of scheduled jobs and tasks (events `cron` and `task`), and deprecations of
 * action versions (`action.deprecation`).
 *
 * Boundary: changes of schedules and subagents arrive on the Bus, which may lose them. The
 * committed rows are complete, and clients read them again.
 */
import {
  type ScheduleChange,
  type ScheduleFire,
  schedulesTopic,
} from '../../../protocols/schedule.ts';
import type { Deprecation } from '../../../protocols/action.ts';
import type { RunEvent } from '../../../protocols/session.ts';
import { type SubagentRow, subagentRowKey, SUBAGENTS_INDEX } from '../../../protocols/subagent.ts';
import { entryPointEventsTopic } from '../../../protocols/task.ts';
import type { System } from '../../../runtime/index.ts';
import { type Connection, eventHead } from '../transport/connection.ts';
import { eventOf } from '../methods/cron/cron-results.ts';
import type { AgentNames } from '../../../operations/sessions/session-key.ts';
import { cronTask, type KnownTask, subagentTask } from '../../../operations/tasks/task-list.ts';

export type WorkFeedOptions = {
  readonly system: Pick<System, 'bus' | 'index'>;
  readonly tenant: string;
  readonly names: AgentNames;
  readonly audience: Iterable<Connection>;
};

export class WorkFeed {
  readonly #options: WorkFeedOptions;
  readonly close: () => void;

  constructor(options: WorkFeedOptions) {
    this.#options = options;
    const { system, tenant } = options;
    // protocols/schedule.ts defines the payload of this topic.
    const unsubscribe = [
      system.bus.subscribe(schedulesTopic(tenant), ({ payload }) =>
        this.#scheduled(payload as ScheduleChange),
      ),
      system.bus.subscribe(entryPointEventsTopic(tenant, '*'), ({ payload }) => {
        const { type: _, ...announced } = payload as Deprecation & { readonly type: string };
        this.#publish('action.deprecation', announced);
      }),
    ];
    this.close = () => unsubscribe.forEach((end) => end());
  }

  /** A subagent of a session started or ended. */
  onSubagentEvent({ sessionKey, id }: RunEvent & { stream: 'subagent' }): void {
    const { system, tenant } = this.#options;
    const key = subagentRowKey(sessionKey, id);
    const row = system.index.get<SubagentRow>(SUBAGENTS_INDEX, tenant, key);
    if (row) this.#task(subagentTask(row));
  }

  #scheduled(change: ScheduleChange): void {
    const { names } = this.#options;
    this.#publish('cron', eventOf(names, change));
    const fire = fireOf(change);
    if (fire && fire.status !== 'skipped') this.#task(cronTask(change.row, fire));
  }

  #task({ summary }: KnownTask): void {
    this.#publish('task', { action: 'upserted', task: summary });
  }

  #publish(event: 'cron' | 'task' | 'action.deprecation', payload: unknown): void {
    const head = eventHead(event, payload);
    for (const connection of this.#options.audience) connection.event(head);
  }
}

const fireOf = ({ action, row }: ScheduleChange): ScheduleFire | undefined =>
  action === 'started' ? row.last : action === 'finished' ? row.lastEnded : undefined;
