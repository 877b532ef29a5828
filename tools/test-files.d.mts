export function sharedFiles(): string[];
export function longestFirst(shares: (path: string) => boolean): (a: string, b: string) => number;
