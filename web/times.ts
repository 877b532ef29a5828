/** Times and durations in the page's language. */
import { language } from './strings.ts';

const STEPS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
];
const DAYS_AS_SPAN = 7;

const relative = new Intl.RelativeTimeFormat(language, { numeric: 'auto', style: 'short' });

/** `2 hr. ago`; a date for more than a week. */
export const timeAgo = (at: number, now = Date.now()): string => {
  const [unit, ms] = STEPS.find(([, each]) => now - at >= each) ?? ['minute', 60_000];
  const count = Math.floor((now - at) / ms);
  return unit === 'day' && count > DAYS_AS_SPAN
    ? new Date(at).toLocaleDateString(language)
    : relative.format(-Math.max(0, count), unit);
};

/** Seconds with one decimal; undefined if an end is missing or clocks disagree. */
export const secondsBetween = (from?: number, to?: number): number | undefined =>
  from === undefined || to === undefined || to < from ? undefined : (to - from) / 1_000;
