/**
 * The active path of a transcript of OpenClaw. A transcript is a tree: each event names its parent,
 * and the last event, or a `leaf` event after it, says where the conversation continues. Pure.
 */
import { type Fields, textOf } from './found.ts';

export type ActivePath = {
  /** from the first to the last one; without headers and `leaf` events */
  readonly events: readonly Fields[];
  /** events on other branches */
  readonly skipped: number;
};

export function activePath(all: readonly Fields[]): ActivePath {
  const byId = new Map<string, Fields>();
  const isTree = all.some(({ parentId }) => typeof parentId === 'string');
  const own = all.filter(({ type }) => type !== 'session' && type !== 'leaf');
  if (!isTree) return { events: own, skipped: 0 };
  let leaf: string | undefined;
  for (const event of all) {
    const id = textOf(event['id']);
    if (event['type'] === 'session' || id === undefined) continue;
    if (event['type'] === 'leaf') {
      leaf = textOf(event['targetId']);
      continue;
    }
    byId.set(id, event);
    leaf = id;
  }
  const events: Fields[] = [];
  for (let id = leaf; id !== undefined; ) {
    const event = byId.get(id);
    if (event === undefined) break;
    // Removed so that a circle of parents ends.
    byId.delete(id);
    events.push(event);
    id = textOf(event['parentId']);
  }
  events.reverse();
  return { events, skipped: own.length - events.length };
}
