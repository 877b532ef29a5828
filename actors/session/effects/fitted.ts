/**
 * Limits the results of one batch to the maximal size of an effect's outcome. A larger outcome
 * would be a failure, and the results of calls that have run would be lost. Pure.
 */
import { cutText } from '../../../agent/tools/registry.ts';
import type { ToolResult } from '../types.ts';

/** Share of the 4 MiB of an outcome; the rest is for names, ids and text sent to users. */
const RESULTS_BYTES_MAX = 3 * 2 ** 20;

/** Texts up to their limit; as many images as fit next to all texts. */
export function fitted(results: readonly ToolResult[]): readonly ToolResult[] {
  const cut = results.map((one) => ({ ...one, result: cutText(one.result) }));
  let room = RESULTS_BYTES_MAX - cut.reduce((sum, one) => sum + Buffer.byteLength(one.result), 0);
  const fits = ({ data }: { readonly data: string }): boolean => {
    if (data.length > room) return false;
    room -= data.length;
    return true;
  };
  return cut.map(({ images = [], ...one }) => {
    const kept = images.filter(fits);
    const more = images.length - kept.length;
    const note = more > 0 ? `${leftOut(more)}\n` : '';
    const result = cutText(note + one.result);
    return { ...one, result, ...(kept.length > 0 ? { images: kept } : {}) };
  });
}

const leftOut = (count: number): string =>
  `[${count} images are left out: the calls of this answer returned more than one request can contain]`;
