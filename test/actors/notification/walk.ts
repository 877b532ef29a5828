/** The events that a notification can receive, and the invariants that hold on every path. */
import { notificationMachine } from '../../../actors/notification/machine.ts';
import type { ErrorData } from '../../../protocols/errors.ts';
import { notificationAddress, type NotificationRow } from '../../../protocols/notification.ts';
import type { Project, Publish, Reply } from '../../../protocols/statechart.ts';
import {
  demand,
  type Exploration,
  type Happened,
  type Move,
  requestsOf,
} from '../../charts/coverage.ts';

/** The answered posts, and the published events. */
class Seen {
  row: NotificationRow | null = null;
  published = 0;
  answer: string | undefined;

  copy(): Seen {
    return Object.assign(new Seen(), this);
  }

  take({ step }: Happened): void {
    for (const { value } of requestsOf<Project>(step.requests, 'project'))
      this.row = value as NotificationRow | null;
    this.published += requestsOf<Publish>(step.requests, 'publish').length;
    demand(this.published, 'one event is published').toBeLessThanOrEqual(1);
    for (const { to, result, error } of requestsOf<Reply>(step.requests, 'reply')) {
      if (!to) continue;
      demand(this.row?.state).toBe(error ? 'failed' : 'sent');
      if (error) continue;
      this.answer ??= JSON.stringify(result);
      demand(JSON.stringify(result), 'a repeat receives the same answer').toBe(this.answer);
    }
    const jobs = Object.keys(step.live.jobs);
    demand(jobs).toEqual(this.row?.state === 'posting' ? ['post'] : []);
  }
}

const send = (name: string, fields: object): Move => ({
  name,
  event: { type: 'notifier.send_notification', to: 'ada', text: 'hello', task_id: 'n1', ...fields },
});
const error: ErrorData = { code: 'UNAVAILABLE', message: 'away' };

export const exploration: Exploration = {
  machine: notificationMachine,
  self: notificationAddress('default', 'n1'),
  moves: () => [
    send('keep', {}),
    send('post', { url: 'http://example.org/hook' }),
    { name: 'accepted', job: 'post', output: { status: 204 } },
    { name: 'not accepted', job: 'post', error },
  ],
  key: ({ snapshot, jobs }) => [snapshot.value, snapshot.status, Object.keys(jobs)],
  ledger: () => new Seen(),
};
