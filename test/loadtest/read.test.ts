/** A file that is no whole report is refused with an error that says what is wrong. */
import { describe, expect, it } from 'vitest';
import { figuresOf } from '../../loadtest/report/figures.ts';
import { Latencies } from '../../loadtest/report/latencies.ts';
import { readReport } from '../../loadtest/report/read.ts';
import type { LoadReport } from '../../loadtest/report.ts';
import { Random } from '../../loadtest/random.ts';
import { encodeIntoCompressedBase64 } from 'hdr-histogram-js';
import { histogramOf, loadReport } from './reports.ts';

const good = loadReport({ seconds: 4 });
const text = JSON.stringify(good);

function damaged(change: (report: LoadReport) => void): string {
  const copy = JSON.parse(text) as LoadReport;
  change(copy);
  return JSON.stringify(copy);
}

describe('a report', () => {
  it('is read as it was written', () => {
    expect(readReport(text, 'load.json')).toEqual(good);
  });

  it.each(['__proto__', 'constructor', 'a\nb', ''])('may have a workload %j', (name) => {
    const other = readReport(text.replaceAll('"run"', JSON.stringify(name)), 'load.json');
    const rows = other.steps.flatMap((step) => figuresOf(step));
    const own = good.steps.flatMap((step) => figuresOf(step));
    expect(rows.find(({ workload }) => workload === name)).toEqual({
      ...own.find(({ workload }) => workload === 'run'),
      workload: name,
    });
  });

  it.each([
    ['an empty file', '', 'load.json is not JSON: it is empty'],
    [
      'a file that was cut off',
      text.slice(0, -10),
      'load.json is not JSON: it may have been cut off',
    ],
    ['a list', '[]', 'not a JSON object'],
    ['another format', '{"format":"k6"}', 'it names the format "k6", not "troupe-load-report"'],
    ['no format', '{}', 'it names no format'],
    [
      'a newer version',
      damaged((report) => Object.assign(report, { version: 2 })),
      'load.json has version 2, and this troupe reads version 1: use a newer troupe',
    ],
    [
      'a missing field',
      damaged((report) => Reflect.deleteProperty(report.machine, 'cores')),
      'load.json is damaged: /machine',
    ],
    [
      'a process without figures, whose name has a line break',
      damaged((report) => Object.assign(report.steps[0]!.windows[0]!.processes, { 'a\nb': null })),
      'load.json is damaged: /steps/0/windows/0/processes/a b',
    ],
    [
      'a histogram that was cut off',
      damaged((report) => {
        const { run } = report.steps[0]!.workloads;
        run!.latency = run!.latency.slice(0, 40);
      }),
      'load.json is damaged: step 1, run: the histogram "latency" cannot be read',
    ],
    [
      'a histogram that is no base64',
      damaged((report) => (report.steps[0]!.windows[2]!.workloads['run']!.service = '§')),
      'step 1, window at 2 s, run: the histogram "service" cannot be read',
    ],
    [
      'a histogram with fewer requests',
      damaged((report) => report.steps[0]!.workloads['run']!.succeeded++),
      'but',
    ],
  ])('is refused: %s', (_, file, error) => {
    expect(() => readReport(file, 'load.json')).toThrow(error);
  });
});

describe('latencies', () => {
  const random = new Random(7);
  const lists = Array.from({ length: 5 }, (_, n) =>
    Array.from({ length: 40 * (n + 1) }, () => random.exponential(10 ** n)),
  );

  it('have the percentiles of HdrHistogram', () => {
    for (const samples of lists) {
      const histogram = histogramOf(samples);
      const latencies = Latencies.decode(encodeIntoCompressedBase64(histogram));
      for (const percentile of [0.1, 10, 50, 90, 95, 99, 99.9, 100])
        expect(latencies.at(percentile / 100)).toBe(
          histogram.getValueAtPercentile(percentile) / 1_000,
        );
    }
  });

  it('add up to the histogram of all of them', () => {
    const sum = Latencies.sum(
      lists.map((samples) => Latencies.decode(encodeIntoCompressedBase64(histogramOf(samples)))),
    );
    const whole = histogramOf(lists.flat());
    expect(sum.total).toBe(whole.totalCount);
    for (const percentile of [50, 90, 99, 100])
      expect(sum.at(percentile / 100)).toBe(whole.getValueAtPercentile(percentile) / 1_000);
  });

  it('have no percentile without requests', () => {
    const none = Latencies.decode(encodeIntoCompressedBase64(histogramOf([])));
    expect(none.total).toBe(0);
    expect(none.at(0.5)).toBeUndefined();
  });
});
