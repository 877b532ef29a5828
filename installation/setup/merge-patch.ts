/** JSON merge patch (RFC 7396), with one addition: lists whose entries have ids. Pure. */

type Json = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const idOf = (value: unknown): unknown => (isObject(value) ? value['id'] : undefined);
const haveIds = (list: readonly unknown[]): boolean =>
  list.length > 0 && list.every((one) => typeof idOf(one) === 'string');

/**
 * `target` changed by `patch`: null removes a key. A list replaces a list, unless all entries of
 * both have an `id`: then entries are merged by id, and new ones appended.
 * @param replaced dotted paths of lists that are always replaced
 */
export const mergePatch = (
  target: Json,
  patch: Json,
  replaced: ReadonlySet<string>,
  path = '',
): Json => {
  const merged: Record<string, unknown> = { ...target };
  for (const [key, value] of Object.entries(patch)) {
    const at = path === '' ? key : `${path}.${key}`;
    if (value === null) delete merged[key];
    else
      merged[key] = mergeValue(Object.hasOwn(target, key) ? target[key] : undefined, value, {
        replaced,
        path: at,
      });
  }
  return merged;
};

type Where = { readonly replaced: ReadonlySet<string>; readonly path: string };

const mergeValue = (before: unknown, value: unknown, { replaced, path }: Where): unknown => {
  if (isObject(value)) return mergePatch(isObject(before) ? before : {}, value, replaced, path);
  const areMerged =
    Array.isArray(value) &&
    Array.isArray(before) &&
    haveIds(value) &&
    haveIds(before) &&
    !replaced.has(path);
  if (!areMerged) return value;
  const byId = new Map(before.map((one: Json) => [one['id'], one]));
  for (const one of value as Json[]) {
    byId.set(one['id'], mergePatch(byId.get(one['id']) ?? {}, one, replaced, `${path}[]`));
  }
  return [...byId.values()];
};
