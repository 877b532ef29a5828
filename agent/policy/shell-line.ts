/**
 * Parses a shell command line as far as that is possible without running it: its simple commands,
 * with their words as the program would receive them.
 *
 * Boundary: it decides nothing; `exec-patterns.ts` does. It accepts only syntax on which POSIX sh
 * (XCU 2.2, 2.3) and bash agree. It rejects syntax that one of them would expand or that they parse
 * differently.
 *
 * Invariants:
 *  1. A parsed line runs exactly the named programs with exactly those words. Words marked
 *     `expands` are the exception: the shell may replace each by any number of words.
 *  2. The result is undefined for everything else: substitutions, variables, here-documents,
 *     process substitution, redirections to files, groups, brace expansion, comments, control
 *     characters, invisible characters and non-ASCII spaces.
 */

/** Longer lines are rejected. */
const CHARACTERS_MAX = 8_192;
const COMMANDS_MAX = 64;

export type ShellWord = {
  /** without quotes and escapes */
  readonly text: string;
  /** the shell expands it: it contains a glob or a tilde */
  readonly expands: boolean;
  /** by index in `text`: whether the character was unquoted, for the `*` of patterns */
  readonly bare: readonly boolean[];
};

/** One program with its words; the first word is the program. */
export type SimpleCommand = {
  /** assignments `NAME=value` before the program */
  readonly assignments: readonly string[];
  readonly words: readonly [ShellWord, ...ShellWord[]];
};

/**
 * The simple commands in order, at least one; undefined when the line cannot be parsed reliably.
 */
export const readShellLine = (line: string): readonly SimpleCommand[] | undefined => {
  if (line.length > CHARACTERS_MAX || isDeceiving(line)) return undefined;
  try {
    const commands = new LineReader(line).commands();
    return commands.length > 0 && commands.length <= COMMANDS_MAX ? commands : undefined;
  } catch (error) {
    if (error instanceof Unreadable) return undefined;
    throw error;
  }
};

/** Quotes the word so that the shell reads it literally. */
export const quoted = (word: string): string =>
  /^[\w@%+:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;

/** The text with invisible and reordering characters written as `\u{202e}`. */
export const visible = (text: string): string =>
  text.replaceAll(
    new RegExp(deceiving, 'gu'),
    (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`,
  );

class Unreadable extends Error {}

/**
 * Control characters except tab and newline, format characters, non-ASCII spaces and line ends,
 * unpaired surrogates: a person who sees the line would not see these correctly.
 */
const deceiving = /[^\P{C}\t\n]|[^\P{Z} ]|\p{Default_Ignorable_Code_Point}/u;
const isDeceiving = (line: string): boolean => deceiving.test(line);

/** Unquoted, each of these starts syntax that is rejected. */
const unread = new Set('$`(){}#!');
const blank = new Set(' \t');
const separators = new Set('\n;&|');
const globs = new Set('*?[');

class LineReader {
  readonly #line: string;
  #at = 0;

  constructor(line: string) {
    this.#line = line;
  }

  commands(): SimpleCommand[] {
    const commands: SimpleCommand[] = [];
    let mayEnd = true;
    while (this.#at < this.#line.length) {
      const command = this.#command();
      const separator = this.#separator();
      if (command) commands.push(command);
      else if (separator !== '\n' && separator !== '') throw new Unreadable();
      else if (!mayEnd && separator === '') throw new Unreadable();
      if (command || separator === '') mayEnd = endings.has(separator);
    }
    if (!mayEnd) throw new Unreadable();
    return commands;
  }

  /** The operator at this position, '' at the end. */
  #separator(): string {
    const [operator = ''] =
      /^(?:&&|\|\||[\n;&|])/.exec(this.#line.slice(this.#at, this.#at + 2)) ?? [];
    this.#at += operator.length;
    return operator;
  }

  /** Parses up to the next separator; undefined when there is no command. */
  #command(): SimpleCommand | undefined {
    const words: ShellWord[] = [];
    for (;;) {
      const char = this.#line[this.#at];
      if (char === undefined || separators.has(char)) break;
      if (blank.has(char)) this.#at++;
      else if (char === '>' || char === '<' || /^\d+[<>]/.test(this.#line.slice(this.#at)))
        this.#redirection();
      else words.push(this.#word());
    }
    const from = words.findIndex((word) => !isAssignment(word));
    const [program, ...rest] = from === -1 ? [] : words.slice(from);
    if (!program) {
      if (words.length > 0) throw new Unreadable();
      return undefined;
    }
    if (program.expands || program.text === '' || program.text.includes('='))
      throw new Unreadable();
    const assignments = words.slice(0, from);
    if (assignments.some(({ expands }) => expands)) throw new Unreadable();
    return { assignments: assignments.map(({ text }) => text), words: [program, ...rest] };
  }

  /** Accepts only redirections that neither write nor read a file. */
  #redirection(): void {
    const harmless = /^\d?(?:>&[12]|>[ \t]*\/dev\/null|<[ \t]*\/dev\/null)(?=[ \t\n;&|]|$)/;
    const [found] = harmless.exec(this.#line.slice(this.#at)) ?? [];
    if (found === undefined) throw new Unreadable();
    this.#at += found.length;
  }

  #word(): ShellWord {
    const word = new WordBuilder();
    for (;;) {
      const char = this.#line[this.#at];
      if (char === undefined || blank.has(char) || separators.has(char)) break;
      if (char === "'") this.#single(word);
      else if (char === '"') this.#double(word);
      else if (char === '\\') this.#escaped(word);
      else {
        if (char === '<' || char === '>' || unread.has(char)) this.#special(char, word);
        word.add(char, true);
        this.#at++;
      }
    }
    return word.done();
  }

  /** `{}` alone, and `#` and `!` within a word, are literal. */
  #special(char: string, word: WordBuilder): void {
    const inside = word.length > 0;
    if (inside && (char === '#' || char === '!')) return;
    const isBraces = /^\{\}(?=[ \t\n;&|]|$)/.test(this.#line.slice(this.#at)) && !inside;
    const isClosing = char === '}' && word.isOpenBrace;
    if (!isBraces && !isClosing) throw new Unreadable();
  }

  #single(word: WordBuilder): void {
    const end = this.#line.indexOf("'", this.#at + 1);
    if (end === -1) throw new Unreadable();
    word.quote();
    for (let at = this.#at + 1; at < end; at++) word.add(this.#line.charAt(at), false);
    this.#at = end + 1;
  }

  #double(word: WordBuilder): void {
    word.quote();
    for (this.#at++; ; this.#at++) {
      const char = this.#line[this.#at];
      if (char === undefined || char === '$' || char === '`') throw new Unreadable();
      if (char === '"') break;
      const next = this.#line.charAt(this.#at + 1);
      if (char === '\\' && next !== '' && '$`"\\\n'.includes(next)) {
        if (next !== '\n') word.add(next, false);
        this.#at++;
      } else word.add(char, false);
    }
    this.#at++;
  }

  /**
   * A backslash at the end of a line (line continuation) is rejected; elsewhere it quotes the next
   * character.
   */
  #escaped(word: WordBuilder): void {
    const next = this.#line[this.#at + 1];
    if (next === undefined || next === '\n') throw new Unreadable();
    word.quote();
    word.add(next, false);
    this.#at += 2;
  }
}

/** A line may end after these; after `&&`, `||` and `|` another command must follow. */
const endings = new Set(['', '\n', ';', '&']);

class WordBuilder {
  #text = '';
  #expands = false;
  readonly #bare: boolean[] = [];
  #isQuoted = false;

  get length(): number {
    return this.#isQuoted ? Math.max(1, this.#text.length) : this.#text.length;
  }

  get isOpenBrace(): boolean {
    return this.#text === '{' && !this.#isQuoted;
  }

  /** Part of it is quoted; quotes make even an empty text a word. */
  quote(): void {
    this.#isQuoted = true;
  }

  add(char: string, isBare: boolean): void {
    const before = this.#text.at(-1);
    const beforeIsBare = this.#bare.at(-1) ?? true;
    const mayBeTilde = this.length === 0 || (beforeIsBare && (before === '=' || before === ':'));
    if (isBare && (globs.has(char) || (char === '~' && mayBeTilde))) this.#expands = true;
    this.#text += char;
    this.#bare.push(isBare);
  }

  done(): ShellWord {
    return { text: this.#text, expands: this.#expands, bare: this.#bare };
  }
}

/** The name and the `=` must be unquoted; otherwise the word is a program. */
const isAssignment = ({ text, bare }: ShellWord): boolean => {
  const [name] = /^[A-Za-z_]\w*=/.exec(text) ?? [];
  return name !== undefined && bare.slice(0, name.length).every(Boolean);
};
