import { describe, expect, it } from 'vitest';
import { fitted } from '../../../../actors/session/effects/fitted.ts';
import type { ToolResult } from '../../../../actors/session/types.ts';
import { encode } from '../../../../protocols/codec.ts';
import { OUTCOME_BYTES_MAX } from '../../../../runtime/effects/runner.ts';

const image = { mimeType: 'image/png', data: 'A'.repeat(1_398_104) } as const;
const result = (callId: string, more: Partial<ToolResult> = {}): ToolResult => ({
  callId,
  name: 'read',
  result: `result of ${callId}`,
  isError: false,
  ...more,
});

describe('the results of a batch', () => {
  it('are within the outcome of an effect, whatever the calls gave', () => {
    const all = Array.from({ length: 32 }, (_, n) =>
      result(`c${n}`, {
        result: '語'.repeat(100_000),
        images: Array.from({ length: 8 }, () => image) as never,
      }),
    );
    const kept = fitted(all);
    expect(encode(kept).length).toBeLessThan(OUTCOME_BYTES_MAX);
    expect(kept.map(({ callId }) => callId)).toEqual(all.map(({ callId }) => callId));
  });

  it('keep the first images, and say how many are left out', () => {
    const [first, second] = fitted([
      result('a', { images: [image] }),
      result('b', { images: [image, image] }),
    ]);
    expect(first).toEqual(result('a', { images: [image] }));
    expect(second!.images).toHaveLength(1);
    expect(second!.result).toMatch(/^\[1 images are left out[^]*result of b$/);
  });
});
