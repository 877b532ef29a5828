/** What limited a step: one named cause for each kind of figures. */
import { expect, it } from 'vitest';
import { limitOf, type LimitFacts } from '../../loadtest/limit.ts';
import type { Outcome } from '../../loadtest/report.ts';

const outcome = (errors: Record<string, number> = {}): Outcome => {
  const failed = Object.values(errors).reduce((sum, count) => sum + count, 0);
  const counts = { scheduled: 100, succeeded: 100 - failed, failed, unfinished: 0 };
  return { ...counts, errors, latency: 'x', service: 'x' };
};

const sample = (client: number, troupe: number, machine = 0.3, storeMs?: number) => ({
  processes: {
    client: { eventLoop: client },
    troupe: { eventLoop: troupe, ...(storeMs !== undefined && { storeMs }) },
  },
  machine,
});

const calm: LimitFacts = {
  outcomes: [outcome()],
  missed: [],
  samples: [sample(0.1, 0.2)],
  isShared: true,
  cores: 2,
  kind: 'own',
  meanMs: 20,
  sendDelayMs: 0.2,
};
const missed = [{ objective: { figure: 'p99' as const, atMost: 1 } }];

it.each<[string, Partial<LimitFacts>, RegExp]>([
  ['none', {}, /nothing was saturated: the event loop of troupe was busy 20 %/],
  ['quota', { outcomes: [outcome({ RATE_LIMIT_EXCEEDED: 5 })] }, /5 of 100/],
  ['client', { outcomes: [outcome({ IN_FLIGHT_LIMIT: 1 })] }, /--max-in-flight/],
  ['client', { samples: [sample(0.95, 0.9)] }, /load generator was busy 95 %/],
  ['client', { sendDelayMs: 15 }, /15 ms of 20 ms/],
  ['event-loop', { samples: [sample(0.3, 0.97)] }, /of troupe was busy 97 %/],
  ['cpu', { samples: [sample(0.3, 0.5, 0.99)] }, /2 cores .* 99 %/],
  ['none', { samples: [sample(0.3, 0.5, 0.99)], isShared: false }, /saturated/],
  ['none', { samples: [sample(0.1, 0.2, 0.3, 10)], envelopeMs: 12 }, /nothing was saturated/],
  ['disk', { samples: [sample(0.1, 0.2, 0.3, 30)], envelopeMs: 40 }, /30 ms .* on the disk/],
  [
    'nats',
    { kind: 'cluster', samples: [sample(0.1, 0.2, 0.3, 30)], envelopeMs: 40 },
    /30 ms .* in NATS/,
  ],
  ['model', { modelMs: 400, modelWorkMs: 450 }, /450 ms.*400 ms/],
  ['unknown', { missed }, /nothing that is measured/],
  ['unknown', { missed, unreadable: 'status 403' }, /cannot be read \(status 403\)/],
])('%s: %j', (what, facts, because) => {
  const limit = limitOf({ ...calm, ...facts });
  expect(limit.what).toBe(what);
  expect(limit.because).toMatch(because);
});
