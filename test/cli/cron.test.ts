/** `troupe cron` as a process, against a real system behind real HTTP. */
import { expect, it } from 'vitest';
import { openSchedules, type ScheduleDoor, SECRET } from '../channels/http/schedule-server.ts';
import { eventually } from '../runtime/eventually.ts';
import { runProgram } from './program.ts';

const cron = ({ url }: ScheduleDoor, ...args: string[]) =>
  runProgram(['cron', ...args, '--url', url.replace('http:', 'ws:'), '--token', SECRET]);

it('troupe cron sets, lists, fires and removes jobs', { timeout: 60_000 }, async () => {
  const door = await openSchedules();
  expect(await cron(door, 'list')).toMatchObject({ code: 0, stdout: 'there are no jobs\n' });
  const times = ['--cron', '0 9 * * 1-5', '--tz', 'Europe/Berlin'];
  const added = await cron(door, 'add', '--id', 'mail', ...times, '-m', 'Sum up my mail.');
  expect(added).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(
      /^mail is set: 0 9 \* \* 1-5 \(Europe\/Berlin\), next 2/,
    ) as string,
  });
  const { stdout } = await cron(door, 'list');
  expect(stdout).toMatch(/^JOB +AGENT +WHEN +STATE +NEXT +LAST +NAME\n/);
  expect(stdout).toMatch(
    /mail +main +0 9 \* \* 1-5 \(Europe\/Berlin\) +waiting .*Sum up my mail\./,
  );
  expect((await cron(door, 'runs', 'mail')).stdout).toBe('the job has not run yet\n');
  expect((await cron(door, 'run', 'mail')).stdout).toMatch(
    /^mail runs as mail\.now\.\S+ in agent:main:cron:mail\n$/,
  );
  await eventually(async () =>
    expect((await cron(door, 'runs', 'mail')).stdout).toMatch(/on request +ok +mail\.now\./),
  );
  expect((await cron(door, 'remove', 'mail')).stdout).toBe('mail was removed\n');
  const listed = await cron(door, 'list', '--json');
  expect(JSON.parse(listed.stdout)).toEqual({ schedules: [] });
});

it.each([
  [['-m', 'x'], /one of --at, --every and --cron/],
  [['-m', 'x', '--at', 'tomorrow'], /ISO 8601/],
  [['--every', '60'], /--message/],
])('troupe cron add %j reports what is missing', async (args, words) => {
  const door = await openSchedules();
  const ended = await cron(door, 'add', ...args);
  expect(ended.code).not.toBe(0);
  expect(ended.stderr).toMatch(words);
});
