/** The memory of agents: notes in files, and how they are found. */
export {
  CHUNKS_MAX,
  FILE_BYTES_MAX as NOTE_BYTES_MAX,
  FILES_MAX as NOTES_MAX,
  type FilePart,
  MAIN_MEMORY,
  MEMORY_FOLDER,
  type MemoryFiles,
  type NoteFile,
} from './files.ts';
export { linesOf } from './chunks.ts';
export {
  type BatchAnswer,
  type BatchState,
  type Embedded,
  type EmbeddedAs,
  type Embedder,
  type EmbeddingBatches,
} from './embedder.ts';
export {
  type Answer,
  MemoryIndex,
  type MemoryIndexOptions,
  type Question,
  type Ranking,
} from './memory-index.ts';
export { isAwaited, removeAwaited, writeAwaited } from './vectors/awaited-texts.ts';
export { storeAnswers } from './vectors/batch-answers.ts';
export { DIMENSIONS_MAX } from './vectors/vector-rows.ts';
export { vectorsIn } from './vectors/segment.ts';
export type { SegmentStore } from './vectors/segment-store.ts';
export { hnswlibPath, openHnswlib } from './vectors/hnswlib-thread.ts';
export { GRAPH_ROWS_MIN } from './vectors/vector-search.ts';
