/** "Did you mean": the known word nearest to a misspelled one. */

/** The nearest of `known` if at most one letter in three differs, but at least one. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const ranked = known
    .map((candidate) => ({ candidate, distance: editDistance(plain(word), plain(candidate)) }))
    .toSorted((a, b) => a.distance - b.distance);
  const best = ranked[0];
  const tolerated = Math.max(1, Math.floor(word.length / 3));
  return best && best.distance <= tolerated ? best.candidate : undefined;
}

const plain = (word: string) => word.toLowerCase().replaceAll(/[-_]/g, '');

/** Damerau–Levenshtein distance (optimal string alignment): a swap of neighbours counts once. */
export function editDistance(a: string, b: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const changed = a[row - 1] === b[column - 1] ? 0 : 1;
      const swapped =
        row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      current.push(
        Math.min(
          (previous[column] ?? 0) + 1,
          (current[column - 1] ?? 0) + 1,
          (previous[column - 1] ?? 0) + changed,
          swapped ? (beforePrevious[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
        ),
      );
    }
    beforePrevious = previous;
    previous = current;
  }
  return previous[b.length] ?? 0;
}

/** The message, with the name that was probably meant. */
export const withGuess = (message: string, guess: string | undefined): string =>
  guess ? `${message}; did you mean ${guess}?` : message;
