/**
 * Words that this repository does not use, with what to write instead. docs/glossary.md has the
 * words that it uses.
 *
 * Older text still contains some of them. `words.json` has how often, per word and part of the
 * repository, and these numbers only fall: a new use is refused, and `npm run words` writes lower
 * numbers after a rewrite.
 */
import type { Finding, Sources } from './sources.ts';

export type Word = { readonly name: string; readonly use: string; readonly pattern: RegExp };

const word = (name: string, use: string, pattern = `\\b${name}\\b`): Word => ({
  name,
  use,
  pattern: new RegExp(pattern, 'gi'),
});

export const WORDS: readonly Word[] = [
  word('can not', 'cannot', '\\bcan not\\b'),
  word('for good', 'permanently'),
  word('told', 'notified, sent, published, or name what the message contains', '\\btold\\b'),
  word('nobody', 'no client, no process, no actor'),
  word('whoever', 'any client that, the caller'),
  word('of whom', 'whose', '\\b(?:of|for|by|to) whom\\b'),
  word('hears', 'receives, is notified of', '\\bhears?\\b'),
  word('stands in', 'is in, is stored in', '\\bstands?\\b'),
  word('born', 'created, initial'),
  word('so many', 'up to N', '\\bso (?:many|long) (?:as|at)\\b'),
  word('begins anew', 'restarts, is reset', '\\bbeg[iau]ns? anew\\b'),
  word('in vain', 'without success'),
  word('what became of', 'the outcome of', '\\bwhat (?:became|becomes|comes|came) of\\b'),
  word('door', 'entry point', '\\bdoors?\\b'),
  word('vouch', 'verify, sign', '\\bvouch(?:es)?\\b'),
  word('mishap', 'failure', '\\bmishaps?\\b'),
  word('lets in', 'admits, approves', '\\blets? (?:\\w+ )?in\\b'),
  word('somebody', 'the actor: a client, a process, an operator', '\\b(?:some|any|every)body\\b'),
  word('anew', 'again, from the beginning'),
  word('mend', 'repair', '\\bmend(?:s|ed|ing)?\\b'),
  word('zombie', 'former owner', '\\bzombies?\\b'),
  word('hire', 'create', '\\bhire[sd]?\\b'),
  word('dealt with', 'resolved, processed', '\\b(?:dealt|deals?) with\\b'),
  word('for ever', 'forever, without end'),
  word('comes back', 'returns, reconnects', '\\b(?:comes?|came) back\\b'),
  word('in clear', 'unencrypted', '\\bin clear\\b'),
  word('so often', 'up to N times, at this interval'),
  word('who says', 'the field that names'),
  word('goes on', 'continues', '\\b(?:goes|go|went) on\\b'),
  word('lies in', 'is in, is stored in', '\\bl(?:ies|ie) in\\b'),
  word('as a rule', 'normally'),
  word('all the same', 'nevertheless, too'),
  word('not wanted any more', 'no longer wanted, aborted', '\\bwanted any more\\b'),
];

export const PARTS = ['code', 'docs', 'tests'] as const;
export type Part = (typeof PARTS)[number];

/** By word and part: the number of uses. */
export type Counts = Readonly<Record<string, Readonly<Record<Part, number>>>>;

/** These explain the words themselves. */
const ABOUT_WORDS = new Set([
  'docs/glossary.md',
  'test/house/words.ts',
  'test/house/words.test.ts',
]);

export const partOf = (path: string): Part =>
  /^(?:test|bench)\//.test(path) ? 'tests' : path.endsWith('.md') ? 'docs' : 'code';

export function countWords(files: Sources): Counts {
  const counts: Record<string, Record<Part, number>> = {};
  for (const { name } of WORDS) counts[name] = { code: 0, docs: 0, tests: 0 };
  for (const [path, text] of files) {
    if (ABOUT_WORDS.has(path)) continue;
    for (const { name, pattern } of WORDS)
      counts[name]![partOf(path)] += text.match(pattern)?.length ?? 0;
  }
  return counts;
}

/** Words that are used more often than `most` says. */
export function wordFindings(files: Sources, most: Counts): Finding[] {
  const counts = countWords(files);
  return WORDS.flatMap(({ name, use }) =>
    PARTS.filter((part) => counts[name]![part] > (most[name]?.[part] ?? 0)).map((part) => ({
      path: part,
      line: 1,
      rule: `word not used: ${name}`,
      remedy: `${counts[name]![part]} uses instead of ${most[name]?.[part] ?? 0}; write: ${use}`,
    })),
  );
}

/** words.json: the present counts, and never more than `most` says. */
export function lowered(files: Sources, most: Partial<Counts>): string {
  const counts = countWords(files);
  const lines = WORDS.map(({ name }) => {
    const parts = PARTS.map((part) => {
      const count = counts[name]![part];
      return `"${part}": ${Math.min(count, most[name]?.[part] ?? count)}`;
    });
    return `  "${name}": { ${parts.join(', ')} }`;
  });
  return `{\n${lines.join(',\n')}\n}\n`;
}
