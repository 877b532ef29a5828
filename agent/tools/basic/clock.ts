/**
 * `clock`: the date and time of the call in a time zone. It reads shard time, so a repeated call
 * returns the same.
 */
import { Type } from '@sinclair/typebox';
import { defineTool } from '../tool.ts';

export const clockTool = defineTool({
  name: 'clock',
  groups: ['basic'],
  description: 'Tells the current date and time, with weekday and UTC offset, in a time zone.',
  parameters: Type.Object(
    {
      timeZone: Type.Optional(
        Type.String({
          maxLength: 64,
          description: 'IANA name such as Europe/Berlin or Asia/Ho_Chi_Minh; default UTC',
        }),
      ),
    },
    { additionalProperties: false },
  ),
  class: 'repeatable',
  parallel: true,
  async run({ timeZone = 'UTC' }, { now }) {
    const format = formatOf(timeZone);
    if (format) return { text: written(format, now) };
    const text = `There is no time zone ${timeZone}. Use an IANA name such as Europe/Berlin, or UTC.`;
    return { text, isError: true };
  },
});

const formatOf = (timeZone: string): Intl.DateTimeFormat | undefined => {
  try {
    return new Intl.DateTimeFormat('en-GB', {
      timeZone,
      weekday: 'long',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      hourCycle: 'h23',
      timeZoneName: 'longOffset',
    });
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
};

/** Tuesday 2026-03-03 14:05:09 (Europe/Berlin, UTC+01:00) */
const written = (format: Intl.DateTimeFormat, now: number): string => {
  const part = Object.fromEntries(
    format.formatToParts(now).map(({ type, value }) => [type, value]),
  );
  const offset = (part.timeZoneName ?? '').replace('GMT', 'UTC');
  const date = `${part.weekday} ${part.year}-${part.month}-${part.day}`;
  const zone = format.resolvedOptions().timeZone;
  const place = zone === 'UTC' ? zone : `${zone}, ${offset}`;
  return `${date} ${part.hour}:${part.minute}:${part.second} (${place})`;
};
