/**
 * Directives: `[[name:value]]` in what is said to the offline model. Pure; what each one does
 * stands in offline-reply.ts.
 */
export type Directives = ReadonlyMap<string, readonly string[]>;

const PATTERN = /\[\[([a-z]+)(?::([^\]]*))?\]\]/g;

export const directivesOf = (text: string): Directives =>
  new Map([...text.matchAll(PATTERN)].map(([, name = '', args = '']) => [name, args.split(':')]));

export const withoutDirectives = (text: string): string => text.replaceAll(PATTERN, ' ').trim();

/** 0 when it is not there, or no positive number. */
export const numberOf = (directives: Directives, name: string): number => {
  const value = Number(directives.get(name)?.[0]);
  return Number.isFinite(value) && value > 0 ? Math.floor(value) : 0;
};
