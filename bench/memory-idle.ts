/** Private memory of an index of notes in this process, after garbage collection. */
import { join } from 'node:path';
import { createSecretMask } from '../agent/tools/secret-mask.ts';
import { WorkspaceNotes } from '../agent/tools/memory/workspace-notes.ts';
import { type Embedder, MemoryIndex } from '../memory/index.ts';
import { collectGarbage, memoryOf } from './harness/computer.ts';
import { Notes } from './memory-notes.ts';

/** MB by which memory grows, after a tenth of the notes has warmed up the process. */
export async function idleMbOf(
  folder: string,
  count: number,
  modelOf: (notes: Notes) => Embedder | undefined = () => undefined,
): Promise<number> {
  const [warm, notes] = [count / 10, count].map((n) => new Notes(join(folder, `idle-${n}`), n));
  const embedder = modelOf(notes!);
  await indexOf(warm!, embedder);
  await collectGarbage();
  const before = memoryOf('self', 'RssAnon');
  const index = await indexOf(notes!, embedder);
  await collectGarbage();
  const grown = memoryOf('self', 'RssAnon') - before;
  if (index.size !== count) throw new Error(`${index.size} chunks were indexed`);
  return grown;
}

async function indexOf({ root, questions }: Notes, embedder: Embedder | undefined) {
  const index = new MemoryIndex({ embedder });
  const question = { query: questions[0]!, maxResults: 6, minScore: 0, embedMs: 120_000 };
  await index.search(new WorkspaceNotes(root, createSecretMask([])), question);
  return index;
}
