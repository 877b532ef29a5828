/** Random numbers of a distribution, as written on a command line. */
import { TroupeError } from '../../protocols/errors.ts';
import type { Random } from '../random.ts';

export type Distribution = {
  /** at least 0 */
  readonly draw: (random: Random) => number;
  readonly mean: number;
};

/** The 99th percentile of the standard normal distribution. */
const Z99 = 2.326348;

/**
 * `400ms` or `constant:400ms`; `uniform:100ms..2s`; `lognormal:p50=400ms,p99=2s`.
 * @param number reads one number of the text
 * @throws TroupeError INVALID_ARGUMENT
 */
export function distributionOf(
  text: string,
  number: (text: string) => number,
  what: string,
): Distribution {
  const [kind, rest] = text.includes(':') ? split(text, ':') : ['constant', text];
  if (kind === 'constant') return constant(number(rest));
  if (kind === 'uniform') {
    const [from, to] = split(rest, '..').map(number);
    if (to! >= from!) return uniform(from!, to!);
  }
  const [, p50, p99] = /^p50=([^,]+),p99=([^,]+)$/.exec(rest) ?? [];
  if (kind === 'lognormal' && p50 !== undefined && p99 !== undefined) {
    const [middle, high] = [number(p50), number(p99)];
    if (middle > 0 && high >= middle) return lognormal(middle, high);
  }
  throw new TroupeError(
    'INVALID_ARGUMENT',
    `${what}: ${JSON.stringify(text)} is no distribution: write constant:A, uniform:A..B, or lognormal:p50=A,p99=B with B at least A`,
  );
}

function split(text: string, by: string): [string, string] {
  const at = text.indexOf(by);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + by.length)];
}

const constant = (value: number): Distribution => ({ draw: () => value, mean: value });

const uniform = (from: number, to: number): Distribution => ({
  draw: (random) => from + (to - from) * random.next(),
  mean: (from + to) / 2,
});

function lognormal(p50: number, p99: number): Distribution {
  const mu = Math.log(p50);
  const sigma = (Math.log(p99) - mu) / Z99;
  return {
    draw: (random) => Math.exp(mu + sigma * random.normal()),
    mean: Math.exp(mu + sigma ** 2 / 2),
  };
}
