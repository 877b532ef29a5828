/** A binary heap in a list: the first item is before all others. A sorted list is one, too. */

/** Whether the first argument comes before the second. */
export type Before<T> = (a: T, b: T) => boolean;

export function pushHeap<T>(heap: T[], item: T, before: Before<T>): void {
  heap.push(item);
  for (let at = heap.length - 1; at > 0; ) {
    const parent = (at - 1) >> 1;
    if (!before(heap[at]!, heap[parent]!)) return;
    [heap[at], heap[parent]] = [heap[parent]!, heap[at]!];
    at = parent;
  }
}

/** Removes the first item of a heap that is not empty. */
export function popHeap<T>(heap: T[], before: Before<T>): T {
  const top = heap[0]!;
  const last = heap.pop()!;
  if (heap.length === 0) return top;
  heap[0] = last;
  for (let at = 0; ; ) {
    const left = 2 * at + 1;
    const right = left + 1;
    let least = at;
    if (left < heap.length && before(heap[left]!, heap[least]!)) least = left;
    if (right < heap.length && before(heap[right]!, heap[least]!)) least = right;
    if (least === at) return top;
    [heap[at], heap[least]] = [heap[least]!, heap[at]!];
    at = least;
  }
}
