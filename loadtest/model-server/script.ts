/**
 * How a scripted model behaves, as written on a command line:
 * `latency=lognormal:p50=400ms,p99=2s errors=2% tokens=200 pace=50`.
 */
import { TroupeError } from '../../protocols/errors.ts';
import { durationMs, numberIn } from '../arguments.ts';
import type { Random } from '../random.ts';
import { type Distribution, distributionOf } from './distribution.ts';

/** What is wrong with an answer: a status, or a connection that breaks in the middle. */
export type Fault = '429' | '500' | 'disconnect';
const FAULTS: readonly Fault[] = ['429', '500', 'disconnect'];

export type ModelScript = {
  /** until the first token, ms */
  readonly latency: Distribution;
  /** share of all requests, 0 to 1, by fault */
  readonly errors: Readonly<Record<Fault, number>>;
  /** of one answer */
  readonly tokens: Distribution;
  /** tokens per second after the first one; 0: all at once */
  readonly pace: number;
};

/** Options of the script by name, as text. */
export type ScriptText = {
  readonly latency?: string;
  readonly errors?: string;
  readonly tokens?: string;
  readonly pace?: string;
};

const NAMES = ['latency', 'errors', 'tokens', 'pace'] as const;
const TOKENS_MAX = 100_000;
const PACE_MAX = 1e6;

/** @throws TroupeError INVALID_ARGUMENT */
export function scriptOf({
  latency = '0',
  errors = '0',
  tokens = '20',
  pace = '0',
}: ScriptText): ModelScript {
  const time = (text: string) => durationMs(text, 'ms', 'latency of the model');
  const count = (text: string) => numberIn(text, 1, TOKENS_MAX, 'tokens of the model');
  return {
    latency: distributionOf(latency, time, 'latency of the model'),
    errors: errorsOf(errors),
    tokens: distributionOf(tokens, count, 'tokens of the model'),
    pace: numberIn(pace, 0, PACE_MAX, 'pace of the model'),
  };
}

/** The options of `name=value name=value`. @throws TroupeError INVALID_ARGUMENT */
export function scriptTextOf(text: string): ScriptText {
  const found: Partial<Record<(typeof NAMES)[number], string>> = {};
  for (const part of text.trim().split(/\s+/).filter(Boolean)) {
    const at = part.indexOf('=');
    const name = NAMES.find((each) => each === part.slice(0, Math.max(0, at)));
    if (name === undefined)
      throw new TroupeError(
        'INVALID_ARGUMENT',
        `--model: ${JSON.stringify(part)} is not NAME=VALUE with a name of ${NAMES.join(', ')}`,
      );
    found[name] = part.slice(at + 1);
  }
  return found;
}

/** `2%` is shared by all faults; `429=1%,disconnect=0.5%` names them. */
function errorsOf(text: string): Record<Fault, number> {
  const none = { '429': 0, '500': 0, disconnect: 0 };
  if (!text.includes('=')) {
    const each = shareOf(text) / FAULTS.length;
    return { '429': each, '500': each, disconnect: each };
  }
  const named = text.split(',').map((part) => {
    const [name = '', value = ''] = part.split('=');
    const fault = FAULTS.find((known) => known === name);
    if (fault !== undefined) return [fault, shareOf(value)] as const;
    throw new TroupeError(
      'INVALID_ARGUMENT',
      `errors of the model: no error ${JSON.stringify(name)}; there are ${FAULTS.join(', ')}`,
    );
  });
  const errors = { ...none, ...Object.fromEntries(named) };
  const sum = FAULTS.reduce((total, fault) => total + errors[fault], 0);
  if (sum <= 1) return errors;
  throw new TroupeError('INVALID_ARGUMENT', 'errors of the model: they are more than 100 %');
}

const shareOf = (text: string): number =>
  text.endsWith('%')
    ? numberIn(text.slice(0, -1), 0, 100, 'errors of the model') / 100
    : numberIn(text, 0, 1, 'errors of the model');

/** What one request gets. */
export type Draw = {
  readonly latencyMs: number;
  readonly tokens: number;
  readonly fault: Fault | undefined;
};

/** Always draws the same number of random numbers, so that one option does not shift another. */
export function drawOf(script: ModelScript, random: Random): Draw {
  const point = random.next();
  const latencyMs = script.latency.draw(random);
  const tokens = Math.max(1, Math.round(script.tokens.draw(random)));
  let sum = 0;
  const fault = FAULTS.find((each) => (sum += script.errors[each]) > point);
  return { latencyMs, tokens: Math.min(TOKENS_MAX, tokens), fault };
}
