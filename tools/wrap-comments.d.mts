export function wrapComments(text: string): string;
