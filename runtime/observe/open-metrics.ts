/**
 * OpenMetrics 1.0 text of Prometheus metrics, with exemplars. Written here, because prom-client
 * changes the names of counters permanently when it writes this format once.
 */
export const OPEN_METRICS_TYPE = 'application/openmetrics-text; version=1.0.0; charset=utf-8';

/** One observation with the trace that it belongs to. */
export type Exemplar = {
  readonly traceId: string;
  readonly value: number;
  /** epoch milliseconds */
  readonly at: number;
};

/**
 * @param text in the format 0.0.4
 * @param exemplars by the name and labels of the line, as `troupe_ack_ms_bucket{le="5"}`
 */
export function openMetricsText(text: string, exemplars: ReadonlyMap<string, Exemplar>): string {
  const lines = text.split('\n').filter((line) => line !== '');
  const counters = new Set(lines.map((line) => /^# TYPE (\S+)_total counter$/.exec(line)?.[1]));
  return `${lines.map((line) => lineOf(line, counters, exemplars)).join('\n')}\n# EOF\n`;
}

function lineOf(
  line: string,
  counters: ReadonlySet<string | undefined>,
  exemplars: ReadonlyMap<string, Exemplar>,
): string {
  if (line.startsWith('#'))
    return line.replace(/^(# \w+ )(\S+)_total\b/, (all, head: string, name: string) =>
      counters.has(name) ? head + name : all,
    );
  const exemplar = exemplars.get(line.slice(0, line.lastIndexOf(' ')));
  if (!exemplar) return line;
  const { traceId, value, at } = exemplar;
  return `${line} # {trace_id="${traceId}"} ${value} ${at / 1_000}`;
}

/** Whether the `Accept` header of a scrape asks for it. */
export const wantsOpenMetrics = (accept: string | undefined): boolean =>
  accept !== undefined && /application\/openmetrics-text/.test(accept);
