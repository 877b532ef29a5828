/**
 * What a load test shows while it runs, on stderr: at a terminal one line a second, elsewhere one
 * line at the beginning and one at the end of each step.
 */
import { figuresOf, numberText } from '../../loadtest/report/figures.ts';
import type { Step } from '../../loadtest/report.ts';
import type { Show } from '../../loadtest/run.ts';

type Stream = { readonly isTTY?: boolean; write(text: string): unknown };

const ms = (value: number | undefined): string =>
  value === undefined ? '-' : `${numberText(value)} ms`;

export function liveProgress(stream: Stream = process.stderr): Show {
  const line = (text: string) => void stream.write(`troupe: ${text}\n`);
  return {
    preflight: () => line('one request of each workload, before the load'),
    begin({ ratePerSecond, seconds, isWarmup }) {
      if (stream.isTTY === true) return;
      const what = isWarmup ? 'warm-up' : 'measurement';
      line(`${what} of ${numberText(seconds)} s at ${numberText(ratePerSecond)}/s begins`);
    },
    window({ ratePerSecond, second, seconds }, glance) {
      if (stream.isTTY !== true) return;
      const { scheduled, succeeded, failed, p50Ms, p99Ms } = glance;
      const at =
        second < 0
          ? 'warm-up'
          : second < seconds
            ? `${second + 1}/${Math.ceil(seconds)} s`
            : 'waiting for answers';
      const counts =
        second < 0
          ? ''
          : `: due ${scheduled}, done ${succeeded}, failed ${failed}, p50 ${ms(p50Ms)}, p99 ${ms(p99Ms)}`;
      line(`${numberText(ratePerSecond)}/s ${at}${counts}`);
    },
    step: (step) => line(stepText(step)),
  };
}

/** `40/s for 30 s: done 1200 of 1201, p50 12 ms, p99 40 ms, errors: TIMEOUT 1; limit: none` */
function stepText(step: Step): string {
  const [all] = figuresOf(step);
  const { scheduled, succeeded, unfinished, errors, latency } = all!;
  const failures = [
    ...Object.entries(errors).map(([code, count]) => `${code} ${count}`),
    ...(unfinished > 0 ? [`unfinished ${unfinished}`] : []),
  ];
  return [
    `${numberText(step.ratePerSecond)}/s for ${numberText(step.seconds)} s: done ${succeeded} of ${scheduled}, p50 ${ms(latency.p50)}, p99 ${ms(latency.p99)}`,
    failures.length > 0 ? `, errors: ${failures.join(', ')}` : '',
    step.missed.length > 0 ? `, missed ${step.missed.length} objectives` : '',
    `; limit: ${step.limit.what}`,
  ].join('');
}
