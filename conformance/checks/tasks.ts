/** Tasks: response times, events, input, cancellation and compensation. */
import type { TaskView } from '../../protocols/task.ts';
import { type Check, checksOf } from '../check.ts';
import type { Trial } from '../trial.ts';

const ACK_MS = 1_000;
/** two seconds, plus the network latency */
const ANSWER_MS = 3_000;
const STOP_SEC = 10;

const names = ({ events }: TaskView): string[] =>
  events.map(({ event }) => event.split('.').at(-1)!);

const running = (view: TaskView) => view.state === 'RUNNING' && view.waiting === undefined;

export const taskChecks: readonly Check[] = checksOf('tasks', {
  'tasks.sync': [
    'work that ends in time is answered with its result',
    async (t) => {
      const reply = await t.send(t.envelope(t.action('echo'), { text: 'x' }));
      const view = reply.body as TaskView;
      t.expect(reply.status === 200 && view.state === 'SUCCEEDED', 'answered at once', reply);
    },
  ],
  'tasks.async': [
    'longer work is acknowledged within 2 s and ends later',
    async (t) => {
      const reply = await t.send(t.envelope(t.action('slow'), { seconds: 8 }));
      const view = reply.body as TaskView;
      t.expect(reply.status === 202, 'status 202', reply);
      t.expect(reply.ms < ANSWER_MS, `answered in ${Math.round(reply.ms)} ms`, reply);
      t.expect(view.state === 'ACKED' || view.state === 'RUNNING', 'ACKED or RUNNING', view);
      t.expect((await t.ended(view)).state === 'SUCCEEDED', 'it ends well');
    },
  ],
  'tasks.ack': [
    'a caller that does not wait is acknowledged within a second, before the work is done',
    async (t) => {
      await t.inTime('it is acknowledged', ACK_MS, async () => {
        const envelope = t.envelope(t.action('slow'), { seconds: 3 });
        const reply = await t.send(envelope, { async: true });
        t.expect(reply.status === 202, 'status 202', reply);
        return reply.ms;
      });
    },
    { alone: true },
  ],
  'tasks.events': [
    'a task publishes accepted, running and done, in this order, numbered without a gap',
    async (t) => {
      const view = await t.call(t.action('echo'), { text: 'x' });
      t.expect(names(view).join() === 'accepted,running,done', 'its events', view);
      const numbers = view.events.map(({ n }) => n).join();
      t.expect(numbers === '1,2,3', 'numbered from 1', view);
    },
  ],
  'tasks.stream': [
    'an event stream ends with the task, and resumes after the last event received',
    async (t) => {
      const envelope = t.envelope(t.action('slow'), { seconds: 1 });
      const view = await t.accepted(envelope, { async: true });
      const all = await t.endpoint.events(view.task_id, 0);
      t.expect(all.map(({ id }) => id).join() === '1,2,3', 'events 1 to 3', all);
      const rest = await t.endpoint.events(view.task_id, 2);
      t.expect(rest.map(({ id }) => id).join() === '3', 'event 3 behind event 2', rest);
    },
  ],
  'tasks.final': [
    'an ended task never changes',
    async (t) => {
      const view = await t.call(t.action('echo'), { text: 'x' });
      await t.send(t.envelope(`${t.action('echo')}.cancel`, { task_id: view.task_id }));
      const later = await t.look(view.task_id);
      t.expect(JSON.stringify(later) === JSON.stringify(view), 'the same as before', {
        view,
        later,
      });
    },
  ],
  'tasks.input': [
    'a task that needs input of its caller waits for it and continues with it',
    async (t) => {
      const view = await t.accepted(t.envelope(t.action('needInput')), { async: true });
      const waiting = await t.ended(view, (now) => now.waiting !== undefined);
      t.expect(waiting.waiting?.for === 'input', 'it waits for input', waiting);
      const input = { name: 'Ada' };
      await t.accepted(t.envelope('task.provide_input', { task_id: view.task_id, input }));
      const ended = await t.ended(waiting);
      t.expect(ended.state === 'SUCCEEDED', 'it succeeds', ended);
      t.expect(JSON.stringify(ended.result).includes('Ada'), 'with the input', ended);
    },
  ],
});

async function begun(t: Trial): Promise<TaskView> {
  const envelope = t.envelope(t.action('slow'), { seconds: 20 });
  const view = await t.accepted(envelope, { async: true });
  return t.ended(view, running);
}

const cancel = (t: Trial, { task_id }: TaskView) =>
  t.envelope(`${t.action('slow')}.cancel`, { task_id });

export const cancelChecks: readonly Check[] = checksOf('cancel and compensation', {
  'cancel.running': [
    'running work is cancelled, and undone if possible: COMPENSATED or CANCELLED, with its event',
    async (t) => {
      const view = await begun(t);
      const ended = await t.ended(await t.accepted(cancel(t, view)));
      t.expect(['COMPENSATED', 'CANCELLED'].includes(ended.state), 'its end', ended);
      const last = names(ended).at(-1);
      t.expect(last === ended.state.toLowerCase(), `its last event is ${ended.state}`, ended);
    },
  ],
  'cancel.undone': [
    'work whose task is COMPENSATED was really undone',
    async (t) => {
      const action = t.action('undone');
      const { task_id, state } = await t.ended(await t.accepted(cancel(t, await begun(t))));
      t.expect(state === 'COMPENSATED', 'it is COMPENSATED', { task_id, state });
      const { result } = await t.call(action, { task_id });
      t.expect((result as { undone?: unknown } | undefined)?.undone === true, 'undone', { result });
    },
  ],
  'cancel.twice': [
    'a second cancel changes nothing and receives the same end',
    async (t) => {
      const view = await begun(t);
      const [a, b] = await Promise.all([t.accepted(cancel(t, view)), t.accepted(cancel(t, view))]);
      const [first, second] = [await t.ended(a), await t.ended(b)];
      t.expect(JSON.stringify(first) === JSON.stringify(second), 'one end', { first, second });
    },
  ],
  'cancel.finished': [
    'a task that has succeeded cannot be cancelled: CONFLICT',
    async (t) => {
      const view = await t.call(t.action('echo'), { text: 'x' });
      const envelope = t.envelope(`${t.action('echo')}.cancel`, { task_id: view.task_id });
      await t.refused(envelope, 'CONFLICT', 'cancelling a finished task');
    },
  ],
  'cancel.stops': [
    'a cancelled task ends long before its work would have ended',
    async (t) => {
      const view = await begun(t);
      const startedAt = performance.now();
      await t.ended(await t.accepted(cancel(t, view)));
      const seconds = (performance.now() - startedAt) / 1_000;
      t.expect(seconds < STOP_SEC, `20 s of work ended ${seconds.toFixed(1)} s after the cancel`);
    },
  ],
  'cancel.unknown': [
    'cancelling an unknown task is refused with NOT_FOUND',
    async (t) => {
      const envelope = t.envelope(`${t.action('slow')}.cancel`, { task_id: crypto.randomUUID() });
      await t.refused(envelope, 'NOT_FOUND', 'cancelling an unknown task');
    },
  ],
});
