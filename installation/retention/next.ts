/** The cursor behind an item of a list: null at its end. */
export const nextOf = (item: string, all: readonly string[]): string | null =>
  item === all.at(-1) ? null : item;
