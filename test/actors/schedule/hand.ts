/** A job of a schedule, stepped by hand. */
import type { ScheduleContext } from '../../../actors/schedule/job.ts';
import { scheduleMachine } from '../../../actors/schedule/machine.ts';
import { scheduleAddress, type ScheduleJob, type When } from '../../../protocols/schedule.ts';
import type { Message, Reply, Tell } from '../../../protocols/statechart.ts';
import {
  initialState,
  fired,
  type Live,
  settled,
  step,
  type Step,
} from '../../../runtime/statechart/host.ts';
import { requestsOf } from '../../charts/coverage.ts';

export const START = Date.parse('2026-03-01T00:00:00Z');
export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const self = scheduleAddress('default', 'mail');

/**
 * One job that a test steps by hand; the test controls the time, also while the system is stopped.
 */
export class Hand {
  live: Live;
  now = START;
  /** how far the clock was set back */
  aheadMs = 0;
  sent: Message[] = [];
  #ids = 0;

  constructor(job: Partial<ScheduleJob> & { when: When }) {
    const input = { self, tenant: 'default', key: 'mail', now: START };
    this.live = initialState(scheduleMachine, input, { id: 'm0', now: START, self }).live;
    this.say({ type: 'schedule.put', job: { agentId: 'main', text: 'look', ...job } });
  }

  get context(): ScheduleContext {
    return this.live.snapshot.context as ScheduleContext;
  }

  say(event: Message): Reply | undefined {
    const meta = { ...this.#meta(), reply: { id: `a${this.#ids}` } };
    return requestsOf<Reply>(
      this.#take(step(scheduleMachine, this.live, { event: { ...event, meta } }, this.now))
        .requests,
      'reply',
    )[0];
  }

  /** The actor is active again at `now`, or only late: every timer that is due fires. */
  comeTo(now: number): void {
    this.now = now;
    for (;;) {
      const due = Object.entries(this.live.timers).find(
        ([, timer]) => !timer.fired && timer.due <= this.now,
      );
      if (!due) return;
      const cause = fired(this.live, due[0], due[1].key, this.#meta());
      this.#take(step(scheduleMachine, this.live, cause, this.now));
      if (this.live.jobs['look']) this.looked(null);
    }
  }

  looked(output: unknown): void {
    const { key } = this.live.jobs['look']!;
    this.#take(
      step(scheduleMachine, this.live, settled('look', key, output, this.#meta()), this.now),
    );
  }

  /** Ends the active run. */
  end(how: object = { status: 'ok' }): void {
    while (!this.live.jobs['look']) {
      const [id, timer] = Object.entries(this.live.timers).find(([, one]) => !one.fired)!;
      this.now = Math.max(this.now, timer.due);
      this.#take(
        step(scheduleMachine, this.live, fired(this.live, id, timer.key, this.#meta()), this.now),
      );
    }
    this.looked({ endedAt: this.now, ...how });
  }

  get runIds(): unknown[] {
    return this.sent.map(({ runId }) => runId);
  }

  #meta = () => ({ id: `m${++this.#ids}`, now: this.now, self, aheadMs: this.aheadMs });
  #take(made: Step): Step {
    if (made.outcome === 'failed') throw new Error(made.error?.message);
    this.live = made.live;
    for (const { event } of requestsOf<Tell>(made.requests, 'tell')) this.sent.push(event);
    return made;
  }
}
