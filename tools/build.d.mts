/** Path of the program's entry after a build: dist/troupe.js. */
export const bundle: string;
export function isStale(): boolean;
export function build(): Promise<void>;
export function ensureBuilt(): void;
