/** The colour and the word of a state, whatever has it. */
import type { Tone } from './pane.tsx';
import { strings } from './strings.ts';

const TONES: Readonly<Record<Tone, readonly string[]>> = {
  ok: ['active', 'allowed', 'completed', 'connected', 'done', 'ok', 'owned', 'compensated'],
  busy: ['running', 'starting', 'connecting', 'open', 'accepted', 'begun'],
  warn: [
    'asked',
    'backoff',
    'waiting',
    'suspended',
    'denied',
    'skipped',
    'lost',
    'unknown',
    'spent',
  ],
  failed: [
    'error',
    'expired',
    'failed',
    'killed',
    'quarantined',
    'refused',
    'timeout',
    'timed_out',
    'timedOut',
  ],
  idle: ['off', 'over', 'ended', 'cancelled', 'queued', 'reserved', 'aborted'],
};

export const toneOf = (state: string): Tone =>
  (Object.keys(TONES) as Tone[]).find((tone) => TONES[tone].includes(state)) ?? 'idle';

export const wordOf = (state: string): string => strings.states[state] ?? state;
