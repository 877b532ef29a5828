/** The contract of Blobs, run on every adapter. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Blobs } from '../../../runtime/blobs/blobs.ts';

export type BlobsUnderTest = {
  readonly blobs: Blobs;
  /** other Blobs on the same data, as after a restart; absent for blobs in memory */
  readonly reopen?: () => Promise<Blobs>;
  readonly dispose: () => Promise<void>;
};

const bytes = (text: string): Uint8Array => Buffer.from(text);
const text = (value: Uint8Array | undefined): string | undefined =>
  value && Buffer.from(value).toString();

export const blobsContract = (name: string, make: () => Promise<BlobsUnderTest>): void => {
  describe(`Blobs contract: ${name}`, () => {
    let under: BlobsUnderTest;
    let blobs: Blobs;
    beforeEach(async () => {
      under = await make();
      blobs = under.blobs;
    });
    afterEach(() => under.dispose());

    it('returns stored bytes, including an empty blob and 5 MB', async () => {
      const large = Buffer.alloc(5_000_000, 3);
      await blobs.put('snap/a', bytes('one'));
      await blobs.put('empty', new Uint8Array(0));
      await blobs.put('large', large);
      expect(text(await blobs.get('snap/a'))).toBe('one');
      expect(await blobs.get('empty')).toHaveLength(0);
      expect(large.equals((await blobs.get('large'))!)).toBe(true);
      expect(await blobs.get('absent')).toBeUndefined();
      expect(await blobs.get('snap')).toBeUndefined();
    });

    it('accepts the same bytes under a name again and refuses others', async () => {
      await blobs.put('n', bytes('one'));
      await blobs.put('n', bytes('one'));
      await expect(blobs.put('n', bytes('two'))).rejects.toMatchObject({ code: 'CONFLICT' });
      expect(text(await blobs.get('n'))).toBe('one');
    });

    it('accepts one of two concurrent puts of different bytes', async () => {
      const puts = await Promise.allSettled([
        blobs.put('n', bytes('one')),
        blobs.put('n', bytes('two')),
      ]);
      expect(puts.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
      expect(['one', 'two']).toContain(text(await blobs.get('n')));
    });

    it('keeps a blob apart from blobs below its name', async () => {
      await blobs.put('a', bytes('1'));
      await blobs.put('a/b', bytes('2'));
      await blobs.put('a/b/c', bytes('3'));
      expect([
        text(await blobs.get('a')),
        text(await blobs.get('a/b')),
        text(await blobs.get('a/b/c')),
      ]).toEqual(['1', '2', '3']);
    });

    it('deletes a name, also a missing one, and then accepts other bytes under it', async () => {
      await blobs.put('n', bytes('one'));
      await blobs.delete('n');
      await blobs.delete('n');
      await blobs.delete('deep/down/n');
      expect(await blobs.get('n')).toBeUndefined();
      await blobs.put('n', bytes('two'));
      expect(text(await blobs.get('n'))).toBe('two');
    });

    it('lists names by prefix, sorted, also within a token', async () => {
      const names = [
        'snap/c/1/100-1',
        'snap/c/1/200-1',
        'snap/c/10/5-1',
        'snap/d/1/1-1',
        'snapshot',
        'other',
      ];
      for (const one of names) await blobs.put(one, bytes(one));
      expect(await blobs.list('snap/c/1/')).toEqual(['snap/c/1/100-1', 'snap/c/1/200-1']);
      expect(await blobs.list('snap/c/1')).toEqual([
        'snap/c/1/100-1',
        'snap/c/1/200-1',
        'snap/c/10/5-1',
      ]);
      expect(await blobs.list('snap')).toEqual([...names].sort().filter((one) => one !== 'other'));
      expect(await blobs.list('')).toEqual([...names].sort());
      expect(await blobs.list('absent/')).toEqual([]);
    });

    it.each([
      '',
      '/',
      'a//b',
      '/a',
      'a/',
      '../a',
      'a/../b',
      '.',
      'a/.',
      'ä',
      'a b',
      'a\\b',
      'a=b',
      '~a',
      'x'.repeat(600),
    ])('refuses the name %j', async (bad) => {
      await expect(blobs.put(bad, bytes('x'))).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
      await expect(blobs.get(bad)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
      await expect(blobs.delete(bad)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    });

    it('copies the bytes, so that the caller may reuse its buffer', async () => {
      const mine = Buffer.from('mine');
      await blobs.put('n', mine);
      mine.fill(0);
      (await blobs.get('n'))!.fill(0);
      expect(text(await blobs.get('n'))).toBe('mine');
    });

    it('keeps its blobs across a restart', async (context) => {
      if (under.reopen === undefined) return context.skip('nothing outlives these blobs');
      await blobs.put('snap/a', bytes('one'));
      const again = await under.reopen();
      expect(text(await again.get('snap/a'))).toBe('one');
      expect(await again.list('')).toEqual(['snap/a']);
    });
  });
};
