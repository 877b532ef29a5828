/** Paths of the declaration files of the entries, by their names in `exports`. */
export function entryTypes(): ReadonlyMap<string, string>;
/** Makes dist/types match the sources. */
export function ensureDeclarations(): void;
