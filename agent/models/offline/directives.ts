/**
 * Directives: `[[name:value]]` in messages to the offline model. Pure; reply.ts describes each one.
 */
export type Directives = ReadonlyMap<string, readonly string[]>;

const PATTERN = /\[\[([a-z]+)(?::([^\]]*))?\]\]/g;

export const directivesOf = (text: string): Directives =>
  new Map([...text.matchAll(PATTERN)].map(([, name = '', args = '']) => [name, args.split(':')]));

export const withoutDirectives = (text: string): string => text.replaceAll(PATTERN, ' ').trim();

/** 0 when it is absent or not a positive number. */
export const numberOf = (directives: Directives, name: string): number => {
  const value = Number(directives.get(name)?.[0]);
  return Number.isFinite(value) && value > 0 ? Math.floor(value) : 0;
};
