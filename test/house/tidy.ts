/**
 * Rules about the form of files that no linter here has: what breaks each, where it applies, and
 * the remedy. After TigerBeetle's tidy.zig.
 */
import type { Finding, Sources } from './sources.ts';

const linesMax = 400;
const columnsMax = 100;
/** A file longer than this must start with a comment that says what it contains. */
const linesWithoutHeadMax = 40;

/** Files that may be longer than `linesMax`, each with its reason. */
const longByIntent: Readonly<Record<string, string>> = {
  'protocols/sdk/typescript/types.ts': 'generated: every type that travels',
};

type LineLaw = {
  readonly rule: string;
  readonly remedy: string;
  readonly holdsIn: (path: string) => boolean;
  readonly broken: (line: string) => boolean;
};

const isTest = (path: string): boolean => path.startsWith('test/') || path.endsWith('.test.ts');
const isLaw = (path: string): boolean => path.startsWith('test/house/');
const isMachine = (path: string): boolean => path.endsWith('/machine.ts') && !isTest(path);
const isComment = (line: string): boolean => /^\s*(\/\/|\/?\*)/.test(line);
const has = (pattern: RegExp) => (line: string) => pattern.test(line);
const mayPrint = /^(cli|bench|tools|examples|test)\//;
const impure =
  /\b(Date\.now|new Date\b|Math\.random|performance\.now|fetch\(|setTimeout|setInterval|crypto\.|process\.)/;

const lineLaws: readonly LineLaw[] = [
  {
    rule: 'unfinished',
    remedy: 'finish it, or take it out',
    holdsIn: (path) => !isLaw(path),
    broken: has(/\b(TODO|FIXME|XXX|HACK)\b/),
  },
  {
    rule: 'hidden test',
    remedy: 'run it; where the machine lacks something use skipIf or context.skip(reason)',
    holdsIn: (path) => isTest(path) && !isLaw(path),
    broken: has(/\b(test|it|describe|suite)(\.\w+)*\.(only|skip|todo)\b/),
  },
  {
    rule: 'stray print',
    remedy: 'use the logger; only commands, benches and tools print',
    holdsIn: (path) => !mayPrint.test(path),
    broken: (line) => /\bconsole\.\w+\(/.test(line) && !isComment(line),
  },
  {
    rule: 'impure machine (I7)',
    remedy: 'time, ids and randomness come in with the event; I/O is an effect',
    holdsIn: isMachine,
    broken: (line) => impure.test(line) && !isComment(line),
  },
  {
    rule: 'long comment line',
    remedy: `break it at ${columnsMax} columns`,
    holdsIn: () => true,
    broken: (line) => line.length > columnsMax && isComment(line) && !/https?:\/\//.test(line),
  },
];

function lineFindings(path: string, lines: readonly string[]): Finding[] {
  const laws = lineLaws.filter((law) => law.holdsIn(path));
  return lines.flatMap((text, index) =>
    laws
      .filter((law) => law.broken(text))
      .map(({ rule, remedy }) => ({ path, line: index + 1, rule, remedy })),
  );
}

const kebab = /^\.?[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9-]+)*$/;
const meaningless = /(^|-)(manager|helpers?|utils?|common|misc)(-|\.)/;

function fileFindings(path: string, lines: readonly string[]): Finding[] {
  const name = path.split('/').at(-1) ?? '';
  const found: Finding[] = [];
  const find = (rule: string, remedy: string, line = 1) => found.push({ path, line, rule, remedy });
  if (!kebab.test(name)) find('file name', 'write it in kebab-case');
  if (meaningless.test(name)) find('file name', 'name it after the one thing it owns');
  if (lines.length > linesMax && !(path in longByIntent))
    find('long file', `${lines.length} lines, ${linesMax} at most: split it by idea`, linesMax);
  if (lines.length > linesWithoutHeadMax && !isTest(path) && !/^(\/\*|#!)/.test(lines[0] ?? ''))
    find('no file head', 'open with a comment: what it owns, its boundary, its invariants');
  return found;
}

/** Every violation of a rule about form. Line ends at the end of a file are not counted. */
export function tidyFindings(files: Sources): Finding[] {
  return [...files].flatMap(([path, text]) => {
    const lines = text.trimEnd().split('\n');
    return [...fileFindings(path, lines), ...lineFindings(path, lines)];
  });
}
