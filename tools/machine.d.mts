export function chromiumPath(): string | undefined;
export function missingHere(): string[];
