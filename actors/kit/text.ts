/** The first characters of a text. A surrogate pair at the end is never split. */
export const firstOf = (text: string, characters: number): string => {
  const cut = text.slice(0, characters);
  return /[\ud800-\udbff]$/.test(cut) ? cut.slice(0, -1) : cut;
};
