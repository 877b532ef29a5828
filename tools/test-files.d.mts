export function sharedFiles(): string[];
export function longestFirst(shares: (path: string) => boolean): (a: string, b: string) => number;
/** Paths of the package's entries, by the name under which programs import them. */
export const packageEntries: Readonly<Record<string, string>>;
