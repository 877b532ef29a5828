/**
 * Codes of requirements, invariants and rules: each one that a comment or page cites is defined
 * once, in docs/requirements.md, docs/architecture.md or docs/commit-protocol.md.
 */
import type { Finding, Sources } from './sources.ts';

const REQUIREMENT = '(?:RT|EN|GW|AL|SE|AA|CH|ME|ND|SX|OP|BX)\\d{1,2}';
/** P: log, A to H and J to O: rules of the commit protocol, T: trimming, V and I: invariants. */
const RULE = '[A-PTV][1-9]';
const CITED = new RegExp(`(?<![\\w%/.-])(?:${REQUIREMENT}|${RULE})(?![\\w/.-])`, 'g');
const DEFINED = new RegExp(
  `^(?:- \\*\\*(${RULE})\\b|\\| (?:\\*\\*)?(${REQUIREMENT}|${RULE})(?:\\*\\*)? \\|)`,
  'gm',
);

/** Pages that define codes. Tables of the commit protocol after this heading only refer to them. */
const PAGES = ['docs/requirements.md', 'docs/architecture.md', 'docs/commit-protocol.md'];
const REFERRING = '### By exhaustive search';

/** How often each code is defined. */
export function definitions(files: Sources): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const page of PAGES)
    for (const [, inList, inTable] of (files.get(page) ?? '')
      .split(REFERRING, 1)
      .join('')
      .matchAll(DEFINED)) {
      const code = inList ?? inTable ?? '';
      found.set(code, (found.get(code) ?? 0) + 1);
    }
  return found;
}

export function codeFindings(files: Sources): Finding[] {
  const defined = definitions(files);
  const twice = [...defined].filter(([, count]) => count > 1).map(([code]) => code);
  return [
    ...twice.map((code) => ({
      path: 'docs',
      line: 1,
      rule: 'code defined twice',
      remedy: `${code} has two definitions: rename one`,
    })),
    ...[...files].flatMap(([path, text]) => unknownCodes(path, text, defined)),
  ];
}

function unknownCodes(path: string, text: string, defined: ReadonlyMap<string, number>): Finding[] {
  return text.split('\n').flatMap((line, at) =>
    [...commentOf(path, line).matchAll(CITED)]
      .filter(([code]) => !defined.has(code))
      .map(([code]) => ({
        path,
        line: at + 1,
        rule: 'unknown code',
        remedy: `${code} is defined nowhere: write the sentence that it abbreviates`,
      })),
  );
}

/** The whole line of a page; of source code the text after a comment mark. */
const commentOf = (path: string, line: string): string =>
  path.endsWith('.md') ? line : (/^\s*(?:\/\*\*?|\*|\/\/)(.*)/.exec(line)?.[1] ?? '');

/** Tests that docs/requirements.md names and that do not exist. */
export const missingTests = (page: string, exists: (path: string) => boolean): string[] =>
  [...page.matchAll(/`(test\/[^`]+)`/g)]
    .map(([, path = '']) => path)
    .filter((path) => !exists(path));
