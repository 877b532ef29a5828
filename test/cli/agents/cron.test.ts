/** `troupe cron` as a process, against a real system behind real HTTP. */
import { expect, it } from 'vitest';
import { openSchedules, type ScheduleServer, SECRET } from '../../channels/http/schedule-server.ts';
import { eventually } from '../../runtime/eventually.ts';
import { runProgram } from '../program.ts';

const cron = ({ url }: ScheduleServer, ...args: string[]) =>
  runProgram(['cron', ...args, '--url', url.replace('http:', 'ws:'), '--token', SECRET]);

it('troupe cron sets, lists, fires and removes jobs', { timeout: 60_000 }, async () => {
  const server = await openSchedules();
  expect(await cron(server, 'list')).toMatchObject({ code: 0, stdout: 'there are no jobs\n' });
  const times = ['--cron', '0 9 * * 1-5', '--tz', 'Europe/Berlin'];
  const added = await cron(server, 'add', '--id', 'mail', ...times, '-m', 'Sum up my mail.');
  expect(added).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(
      /^mail is set: 0 9 \* \* 1-5 \(Europe\/Berlin\), next 2/,
    ) as string,
  });
  const { stdout } = await cron(server, 'list');
  expect(stdout).toMatch(/^JOB +AGENT +WHEN +STATE +NEXT +LAST +NAME\n/);
  expect(stdout).toMatch(
    /mail +main +0 9 \* \* 1-5 \(Europe\/Berlin\) +waiting .*Sum up my mail\./,
  );
  expect((await cron(server, 'runs', 'mail')).stdout).toBe('the job has not run yet\n');
  expect((await cron(server, 'run', 'mail')).stdout).toMatch(
    /^mail runs as mail\.now\.\S+ in agent:main:cron:mail\n$/,
  );
  await eventually(async () =>
    expect((await cron(server, 'runs', 'mail')).stdout).toMatch(/on request +ok +mail\.now\./),
  );
  expect((await cron(server, 'remove', 'mail')).stdout).toBe('mail was removed\n');
  const listed = await cron(server, 'list', '--json');
  expect(JSON.parse(listed.stdout)).toEqual({ schedules: [] });
});

it.each([
  [['-m', 'x'], /one of --at, --every and --cron/],
  [['-m', 'x', '--at', 'tomorrow'], /ISO 8601/],
  [['--every', '60'], /--message/],
])('troupe cron add %j reports what is missing', async (args, words) => {
  const server = await openSchedules();
  const ended = await cron(server, 'add', ...args);
  expect(ended.code).not.toBe(0);
  expect(ended.stderr).toMatch(words);
});
