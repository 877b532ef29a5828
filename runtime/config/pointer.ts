/**
 * Places inside a configuration, as JSON Pointers (RFC 6901), and the way a person writes them.
 */

/**
 * `/agents/agents/0/id` → `['agents', 'agents', '0', 'id']`. The empty pointer is the whole
 * document.
 */
export const parsePointer = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));

/** One step down. */
export const childPointer = (pointer: string, key: string | number): string =>
  `${pointer}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`;

export const parentPointer = (pointer: string): string =>
  pointer.slice(0, Math.max(0, pointer.lastIndexOf('/')));

/** As JavaScript would write it: `agents.agents[0].id`, `agents.routing.whatsapp["+123"]`. */
export function showPointer(pointer: string): string {
  return parsePointer(pointer).reduce((path, key) => {
    if (/^\d+$/.test(key)) return `${path}[${key}]`;
    if (!/^[A-Za-z_$][\w$]*$/.test(key)) return `${path}[${JSON.stringify(key)}]`;
    return path === '' ? key : `${path}.${key}`;
  }, '');
}

/** The pointer of a path as a person writes it; the inverse of `showPointer`. */
export const pointerOf = (path: string): string =>
  [...path.matchAll(/\["((?:[^"\\]|\\.)*)"\]|\[(\d+)\]|([^.[\]]+)/g)].reduce(
    (pointer, [, quoted, index, key]) =>
      childPointer(
        pointer,
        quoted === undefined ? (index ?? key ?? '') : (JSON.parse(`"${quoted}"`) as string),
      ),
    '',
  );

/** Whether a pointer equals the other one or is below it. */
export const isWithin = (pointer: string, outer: string): boolean =>
  pointer === outer || pointer.startsWith(`${outer}/`);

/** The value at a pointer, undefined where the way there does not exist. */
export function valueAt(root: unknown, pointer: string): unknown {
  return parsePointer(pointer).reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, key)
        ? (value as Record<string, unknown>)[key]
        : undefined,
    root,
  );
}

/**
 * Puts a value, making the objects on the way; what is in the way and is not an object is left as
 * it is.
 */
export function setAt(root: Record<string, unknown>, pointer: string, value: unknown): void {
  const keys = parsePointer(pointer);
  const last = keys.pop();
  if (last === undefined) return;
  let at = root;
  for (const key of keys) {
    if (at[key] === undefined) at[key] = {};
    const next = at[key];
    if (typeof next !== 'object' || next === null || Array.isArray(next)) return;
    at = next as Record<string, unknown>;
  }
  at[last] = value;
}

/** Every value that is neither an object nor a filled list, in document order. */
export function* leaves(
  value: unknown,
  pointer = '',
): Generator<[pointer: string, value: unknown]> {
  const children = branch(value);
  if (children.length === 0) yield [pointer, value];
  for (const [key, child] of children) yield* leaves(child, childPointer(pointer, key));
}

/** Children of plain objects and lists; anything of a class is a leaf. */
function branch(value: unknown): [string, unknown][] {
  if (Array.isArray(value)) return Object.entries(value);
  const plain =
    typeof value === 'object' &&
    value !== null &&
    Object.getPrototypeOf(value) === Object.prototype;
  return plain ? Object.entries(value) : [];
}
