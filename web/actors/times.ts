/** Spans and moments in the language of the page. */
import { language } from '../strings.ts';
import type { Times } from './why-it-waits.ts';

type Unit = 'day' | 'hour' | 'minute' | 'second';
const UNITS: readonly (readonly [Unit, number])[] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
];

const unitOf = (ms: number): readonly [Unit, number] =>
  UNITS.find(([, each]) => Math.abs(ms) >= each) ?? ['second', 1_000];
const relative = new Intl.RelativeTimeFormat(language, { numeric: 'auto' });

export const times: Times = {
  span(ms) {
    const [unit, each] = unitOf(ms);
    const count = Math.max(0, Math.floor(ms / each));
    return new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: 'long' }).format(
      count,
    );
  },
  until(ms) {
    const [unit, each] = unitOf(ms);
    return relative.format(Math.round(ms / each), unit);
  },
};
