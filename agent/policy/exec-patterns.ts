/**
 * Patterns of commands that run on the host without an approval.
 *
 *     git status      this program with exactly these words
 *     ls *            a `*` at the end: any words, or none, as far as the program's tables allow
 *     npm run *       words that begin with these: one script, and no arguments for it
 *     cat src/*       within a word: any characters but `/`; no `..`, and no option in its place
 *     cp * backup     between words: one word
 *     git log 'a*'    quoted, a `*` is a `*`
 *
 * A pattern may contain several commands, such as `cd web && npm test`; it allows each of them.
 *
 * Invariants:
 *  1. A line is allowed when each simple command in it matches a pattern. A line that cannot be
 *     parsed reliably matches none (`shell-line.ts`).
 *  2. Only a `*` at the end matches a word that the shell expands.
 *  3. A `*` never matches the program or the variable assignments before it; the pattern must
 *     contain them literally.
 *  4. A `*` never allows words that make a program run another one (`exact-programs.ts`). Only
 *     patterns without `*` match such commands.
 *  5. The pattern that `always` adds matches only the commands that the operator saw.
 */
import {
  isNeverMatched,
  mayStandFor,
  needsExactPattern,
  runsScriptFile,
} from './exact-programs.ts';
import { quoted, readShellLine, type ShellWord, type SimpleCommand } from './shell-line.ts';

/** Maximum length of a pattern that is derived from an approved command, characters. */
const PATTERN_CHARACTERS_MAX = 1_000;

/** Whether patterns allow every command of the line. Pure; invalid patterns allow nothing. */
export const isAllowedCommand = (line: string, patterns: readonly string[]): boolean => {
  const commands = readShellLine(line);
  if (!commands) return false;
  const known = patterns.flatMap(patternOf);
  return commands.every(
    (command) =>
      !isNeverMatched(command.words[0].text) && known.some((pattern) => matches(command, pattern)),
  );
};

/** Cache of parsed patterns: an agent has up to 500 and checks them for each command. */
const read = new Map<string, readonly SimpleCommand[]>();
const READ_MAX = 2_000;

const patternOf = (pattern: string): readonly SimpleCommand[] => {
  const known = read.get(pattern);
  if (known) return known;
  const commands = readShellLine(pattern) ?? [];
  if (read.size >= READ_MAX) read.clear();
  read.set(pattern, commands);
  return commands;
};

/**
 * The pattern that `always` adds: exactly the commands of the line. '' when the line cannot be
 * parsed reliably or is too long; such a line can only be approved once.
 */
export const alwaysPattern = (line: string): string => {
  const commands = readShellLine(line) ?? [];
  const pattern = [...new Set(commands.map(exactly))].join(' && ');
  const isExact = pattern.length <= PATTERN_CHARACTERS_MAX && isAllowedCommand(line, [pattern]);
  return isExact ? pattern : '';
};

/** Why a pattern matches nothing, for its author; undefined when it is valid. */
export const patternFault = (pattern: string): string | undefined => {
  const commands = readShellLine(pattern);
  if (!commands) {
    return 'it is not a plain command: write a program and its words, with * for any words';
  }
  const never = commands.find(({ words: [program] }) => isNeverMatched(program.text));
  if (never)
    return `${never.words[0].text} is a shell keyword or builtin, which no pattern matches`;
  const wide = commands.find(
    ({ words: [program, ...args] }) =>
      args.some(hasWildcard) && needsExactPattern(program.text, args.map(textOf)),
  );
  return wide && `${wide.words[0].text} runs other programs, so its pattern must not contain *`;
};

/** What a valid pattern allows that its author may not expect; undefined when there is nothing. */
export const patternWarning = (pattern: string): string | undefined => {
  const open = readShellLine(pattern)?.find(
    ({ words: [program, script] }) => runsScriptFile(program.text) && script && hasWildcard(script),
  );
  if (!open) return undefined;
  const name = open.words[0].text;
  return `${name} runs any matching script file without approval, also one that the agent wrote`;
};

const textOf = ({ text }: ShellWord): string => text;
const hasWildcard = ({ text, bare }: ShellWord): boolean =>
  [...bare.keys()].some((at) => text[at] === '*' && bare[at]);
const isWildcard = (word: ShellWord): boolean => word.text === '*' && hasWildcard(word);

const exactly = ({ assignments, words }: SimpleCommand): string =>
  [...assignments.map(quotedAssignment), ...words.map(({ text }) => quoted(text))].join(' ');

/** The name stays unquoted; otherwise the shell would read the word as a program. */
const quotedAssignment = (assignment: string): string => {
  const sign = assignment.indexOf('=') + 1;
  const value = assignment.slice(sign);
  return assignment.slice(0, sign) + (value === '' ? '' : quoted(value));
};

const matches = (command: SimpleCommand, pattern: SimpleCommand): boolean => {
  const [program, ...args] = command.words;
  const [wanted, ...patterns] = pattern.words;
  if (program.text !== wanted.text || !sameTexts(command.assignments, pattern.assignments))
    return false;
  const isExact = !patterns.some(hasWildcard);
  const isOpen = args.some(({ expands, text }) => expands && /^[*?[]/.test(text));
  if (!isExact && needsExactPattern(program.text, args.map(textOf), isOpen)) return false;
  const last = patterns.at(-1);
  const takesRest = last !== undefined && isWildcard(last);
  const fixed = takesRest ? patterns.slice(0, -1) : patterns;
  if (takesRest ? args.length < fixed.length : args.length !== fixed.length) return false;
  const free = args.filter((_, at) => at >= fixed.length || hasWildcard(fixed[at]!));
  if (!isExact && !mayStandFor(program.text, free.map(textOf), isOpen)) return false;
  return fixed.every((word, at) => matchesWord(args[at], word));
};

const sameTexts = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((text, at) => text === b[at]);

const matchesWord = (word: ShellWord | undefined, pattern: ShellWord): boolean => {
  if (!word || word.expands) return false;
  if (!hasWildcard(pattern)) return word.text === pattern.text;
  if (isWildcard(pattern)) return !word.text.startsWith('-');
  if (word.text.startsWith('-') && !pattern.text.startsWith('-')) return false;
  return !word.text.split('/').includes('..') && wildcardMatches(word.text, pattern);
};

/** Greedy matching with one backtrack; linear for each `*`, so no pattern makes it slow. */
const wildcardMatches = (text: string, { text: pattern, bare }: ShellWord): boolean => {
  let at = 0;
  let to = 0;
  let star = -1;
  let starAt = 0;
  while (at < text.length) {
    if (to < pattern.length && pattern[to] === '*' && bare[to]) {
      star = to++;
      starAt = at;
    } else if (to < pattern.length && pattern[to] === text[at]) {
      to++;
      at++;
    } else if (star !== -1 && text[starAt] !== '/') {
      to = star + 1;
      at = ++starAt;
    } else return false;
  }
  while (to < pattern.length && pattern[to] === '*' && bare[to]) to++;
  return to === pattern.length;
};
