/** The line of doctor on the growth of the audit. */
import { expect, it } from 'vitest';
import { growth } from '../../../cli/doctor/doctor-audit.ts';
import { scratchFolder } from '../../runtime/config/folder.ts';
import { reservePort } from '../../servers/reserve-port.ts';
import { announced, runProgram, startProgram } from '../program.ts';

const HOUR_MS = 3_600_000;
const day = (records: number, hours: number) => ({
  day: '2026-05-04',
  records,
  firstAt: 0,
  lastAt: hours * HOUR_MS,
});

it('warns when all tenants together write over 20,000 records an hour', () => {
  expect(growth([])).toMatchObject({ status: 'ok' });
  expect(growth([[day(200_000, 10)]])).toMatchObject({ status: 'ok' });
  expect(growth([[day(200_000, 10)], [day(20, 0.01)]])).toMatchObject({
    status: 'warn',
    message: '200020 records; on its newest day 20020 an hour',
  });
  expect(growth([[day(5, 1), day(900_000, 1)]])).toMatchObject({ status: 'ok' });
});

it('reads the audit of a running gateway, of every tenant, and has no line without one', async () => {
  const home = scratchFolder();
  const env = { TROUPE_HOME: home, TROUPE_PORT: String(await reservePort()) };
  const down = await runProgram(['doctor'], { home, env });
  expect(down.stdout).not.toContain('audit:');
  await announced(startProgram(['start', '--json'], { home, env }), 60_000);
  const { stdout } = await runProgram(['doctor'], { home, env });
  expect(stdout).toMatch(/ok {4}audit: \d+ records; on its newest day \d+ an hour/);
}, 120_000);
