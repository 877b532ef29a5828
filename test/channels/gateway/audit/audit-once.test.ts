/** A batch of audit records whose answer is lost, on the real runtime. */
import { expect, it, onTestFinished } from 'vitest';
import {
  AuditTrail,
  type AuditTrailOptions,
} from '../../../../channels/gateway/tenant/audit-trail.ts';
import { type AuditDayRow, AUDITS_INDEX } from '../../../../protocols/audit.ts';
import { TroupeError } from '../../../../protocols/errors.ts';
import { systemClock } from '../../../../runtime/index.ts';
import { eventually } from '../../../runtime/eventually.ts';
import { silentLog } from '../client.ts';
import { dataFolder, openRealSystem } from '../real-system.ts';

it('a batch whose answer was lost is retried as the same message and stored once', async () => {
  const folder = dataFolder();
  const real = await openRealSystem(folder.path, 0);
  onTestFinished(async () => {
    await real.stop();
    folder.remove();
  });
  let sent = 0;
  const system: AuditTrailOptions['system'] = {
    ask: (...args) => real.ask(...args),
    async tell(...args) {
      const answer = await real.tell(...args);
      if (++sent === 1) throw new TroupeError('UNAVAILABLE', 'the answer was lost');
      return answer;
    },
  };
  const about = { tenant: 'default', gateway: 'g1', clock: systemClock, log: silentLog };
  const trail = new AuditTrail({ system, ...about });
  trail.httpRequest('ann', 'POST /v1/one', undefined);
  await trail.close();
  trail.httpRequest('ann', 'POST /v1/two', undefined);
  await trail.close();
  expect(sent).toBe(3);
  const noted = () =>
    real.index
      .list<AuditDayRow>(AUDITS_INDEX, 'default')
      .reduce((sum, { value }) => sum + value.records, 0);
  await eventually(() => expect(noted()).toBe(2));
});
