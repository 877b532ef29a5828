/** Opens the index of an agent's notes. Loaded with the first search in a process. */
import { MemoryIndex, type MemoryIndexOptions, openHnswlib } from '../../../memory/index.ts';

export const openIndex = (options: Omit<MemoryIndexOptions, 'graph'>): MemoryIndex =>
  new MemoryIndex({ ...options, graph: openHnswlib });
