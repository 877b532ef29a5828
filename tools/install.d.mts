/** The repository's folder. */
export const root: string;
export function missingPackages(options: { dev: boolean; folder?: string }): string[];
export function ensureInstalled(options: { dev: boolean }): void;
