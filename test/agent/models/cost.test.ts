import { describe, expect, it } from 'vitest';
import { createAnthropicProvider } from '../../../agent/models/anthropic.ts';
import { costOf } from '../../../agent/models/cost.ts';
import { KNOWN_MODELS } from '../../../agent/models/known-models.ts';
import { systemClock as clock } from '../../../runtime/clock/clock.ts';
import { startAnthropicServer } from '../../servers/anthropic-server.ts';
import { hearAll, patient, request } from './provider-contract.ts';

const million = 1_000_000;
const price = { input: 4, output: 20, cachedInput: 0.4, cacheWrite: 5 };

describe('the cost of a call', () => {
  it('is unknown without a price', () => {
    expect(costOf({ inputTokens: 5, outputTokens: 5 }, undefined)).toBeUndefined();
  });

  it('counts fresh, cached and written tokens once, each at its own price', () => {
    const usage = { inputTokens: 4 * million, outputTokens: million };
    expect(costOf(usage, price)).toBeCloseTo(16 + 20, 9);
    const cached = { ...usage, cachedInputTokens: 2 * million, cacheWriteTokens: million };
    expect(costOf(cached, price)).toBeCloseTo(4 + 0.8 + 5 + 20, 9);
    expect(costOf(cached, { input: 4, output: 20 })).toBeCloseTo(16 + 20, 9);
  });

  it('is never below zero, whatever a server counts', () => {
    const odd = { inputTokens: 10, outputTokens: 0, cachedInputTokens: 99, cacheWriteTokens: 99 };
    expect(costOf(odd, price)).toBeCloseTo((10 * 0.4) / million, 12);
  });

  it('uses the long-input prices for the whole call when the input is long', () => {
    const tiered = { ...price, above: { inputTokens: 100, input: 8, output: 30 } };
    expect(costOf({ inputTokens: 100, outputTokens: 0 }, tiered)).toBeCloseTo(400 / million, 12);
    expect(costOf({ inputTokens: 101, outputTokens: 1 }, tiered)).toBeCloseTo(838 / million, 12);
  });

  it('is known for every known model, and cached input never costs more', () => {
    const known = Object.values(KNOWN_MODELS).flat();
    const odd = known.filter(
      ({ price: { input = 0, output = 0, cachedInput = input } = {} as never }) => {
        return !(input > 0 && output > input && cachedInput < input);
      },
    );
    expect(odd).toEqual([]);
  });
});

it('counts what Anthropic read from its cache and wrote into it as parts of the input', async () => {
  const server = await startAnthropicServer();
  try {
    const { baseUrl } = server;
    const provider = createAnthropicProvider({ id: 'a', baseUrl, models: [], clock });
    const heard = await hearAll(provider.stream(request(), patient()));
    expect(heard.done[0]?.usage).toEqual({
      inputTokens: 11, // 5 fresh, 4 written, 2 read
      outputTokens: 7,
      cachedInputTokens: 2,
      cacheWriteTokens: 4,
    });
  } finally {
    await server.close();
  }
});
