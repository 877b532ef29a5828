/**
 * Awaited texts: which texts a batch of the model's provider embeds. They are listed in the store
 * of the segments, so that every process leaves them to the batch instead of paying for them twice.
 *
 * An agent has one batch at a time, so it has one list. Its name contains a hash, because a store
 * writes a name once.
 */
import { keyOf } from './segment.ts';
import type { SegmentStore } from './segment-store.ts';

const FOLDER = 'awaited/';

/** Whether a name of the store is that of such a list. */
export const isAwaited = (name: string): boolean => name.startsWith(FOLDER);

/** The models of which texts are awaited, as segments name them. */
export const modelsAwaited = (names: readonly string[]): ReadonlySet<string> =>
  new Set(names.filter(isAwaited).map((name) => name.slice(FOLDER.length).split('/')[0]!));

/** Replaces the list. @param identity of the embedder @throws errors of the store */
export async function writeAwaited(
  store: SegmentStore,
  identity: string,
  keys: readonly string[],
): Promise<void> {
  await removeAwaited(store);
  const bytes = Buffer.from(JSON.stringify(keys));
  await store.write(`${FOLDER}${keyOf(identity)}/${keyOf(bytes)}`, bytes);
}

/** @param model as segments name it @throws errors of the store */
export async function readAwaited(
  store: SegmentStore,
  model: string,
): Promise<ReadonlySet<string>> {
  const names = (await store.list()).filter((name) => name.startsWith(`${FOLDER}${model}/`));
  const lists = await Promise.all(names.map((name) => store.read(name)));
  return new Set(lists.flatMap((bytes) => (bytes === undefined ? [] : keysIn(bytes))));
}

/** @throws errors of the store */
export async function removeAwaited(store: SegmentStore): Promise<void> {
  for (const name of await store.list()) if (isAwaited(name)) await store.remove(name);
}

/** None of a damaged list: its texts are embedded directly. */
function keysIn(bytes: Uint8Array): readonly string[] {
  try {
    return JSON.parse(Buffer.from(bytes).toString()) as readonly string[];
  } catch {
    return [];
  }
}
