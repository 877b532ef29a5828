/** Reads the text format of Prometheus, as far as the load test needs it. */

/** Samples without labels, by name. */
export type Metrics = ReadonlyMap<string, number>;

export function metricsOf(text: string): Metrics {
  const found = new Map<string, number>();
  for (const [, name = '', value = ''] of text.matchAll(/^([a-zA-Z_:][\w:]*) (\S+)/gm)) {
    const number = Number(value);
    if (Number.isFinite(number)) found.set(name, number);
  }
  return found;
}
