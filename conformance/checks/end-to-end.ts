/** Several agents together: an external program → Process → Data → Verifier, with their SLOs. */
import { randomUUID } from 'node:crypto';
import type { TaskView } from '../../protocols/task.ts';
import { type Check, checksOf } from '../check.ts';
import type { Trial } from '../trial.ts';

const AT_ONCE = 20;
const ACK_P95_MS = 1_000;
const DONE_OVER_ETA_SEC = 60;

const p95 = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.ceil(values.length * 0.95) - 1] ?? Number.NaN;

async function one(t: Trial): Promise<{ ackMs: number; view: TaskView }> {
  const document_id = `document-${randomUUID()}`;
  const envelope = t.envelope(t.action('endToEnd'), {
    document_id,
    content: 'a first text',
    notify: { to: 'conformance' },
  });
  const reply = await t.send(envelope, { async: true });
  t.expect(reply.status === 200 || reply.status === 202, 'a process is accepted', reply);
  return { ackMs: reply.ms, view: await t.ended(reply.body as TaskView) };
}

const secondsOf = ({ accepted_at, finished_at = accepted_at }: TaskView): number =>
  (Date.parse(finished_at) - Date.parse(accepted_at)) / 1_000;

export const endToEndChecks: readonly Check[] = checksOf('end to end', {
  'e2e.process': [
    `${AT_ONCE} concurrent processes succeed, each step verified, acknowledged and done in time`,
    async (t) => {
      await t.inTime('P95 of acknowledgements', ACK_P95_MS, async () => {
        const runs = await Promise.all(Array.from({ length: AT_ONCE }, () => one(t)));
        for (const { view } of runs) t.expect(view.state === 'SUCCEEDED', 'it succeeds', view);
        const over = p95(runs.map(({ view }) => secondsOf(view) - view.eta_sec));
        t.expect(over <= DONE_OVER_ETA_SEC, `done P95 ${over.toFixed(1)} s over the eta`);
        return p95(runs.map(({ ackMs }) => ackMs));
      });
    },
    { alone: true },
  ],
  'e2e.evidence': [
    'a process leaves the evidence of its verified steps',
    async (t) => {
      const { view } = await one(t);
      const reply = await t.http.get(`/evidence/${view.task_id}`);
      const { records = [] } = reply.body as { records?: { verified?: boolean }[] };
      t.expect(records.length > 0, 'records of its job', reply);
      t.expect(
        records.every(({ verified }) => verified === true),
        'all verified',
        reply,
      );
    },
  ],
});
