/** Gauges that read their number at each scrape, or at most once in a while. */
import { performance } from 'node:perf_hooks';
import { Gauge, type Registry } from 'prom-client';

/** NaN: unknown at present. */
export type ReadNumber = () => number | Promise<number>;

/**
 * A read that fails is NaN, which no comparison of an alarm matches; the other metrics are not
 * affected.
 * @param everyMs the number is read at most once in this time; default at each scrape
 * @throws Error when the name is taken
 */
export function addGauge(
  registry: Registry,
  gauge: { readonly name: string; readonly help: string },
  read: ReadNumber,
  everyMs = 0,
): void {
  let value: Promise<number> | undefined;
  let readAtMs = -Infinity;
  const current = (): Promise<number> => {
    const nowMs = performance.now();
    if (value === undefined || nowMs - readAtMs >= everyMs) {
      readAtMs = nowMs;
      value = Promise.resolve()
        .then(read)
        .catch(() => Number.NaN);
    }
    return value;
  };
  const shown: Gauge = new Gauge({
    ...gauge,
    registers: [registry],
    collect: async () => shown.set(await current()),
  });
}

/** A number for each value of a label, as `read` returns them at each scrape. */
export function addGaugeBy(
  registry: Registry,
  gauge: { readonly name: string; readonly help: string; readonly label: string },
  read: () => Readonly<Record<string, number>>,
): void {
  const { name, help, label } = gauge;
  const shown: Gauge = new Gauge({
    name,
    help,
    labelNames: [label],
    registers: [registry],
    collect: () => {
      for (const [value, number] of Object.entries(read())) shown.set({ [label]: value }, number);
    },
  });
}
