/**
 * Reads a shell command line so far as it can be read without running it: the simple commands in it
 * with their words as the program would get them.
 *
 * Boundary: it decides nothing; `exec-patterns.ts` does. POSIX sh (XCU 2.2, 2.3) and bash agree on
 * all that is read here. What one of them would expand, or what the two read differently, is not
 * read at all.
 *
 * Invariants:
 *  1. A line that is read runs exactly the programs that are named, with exactly those words, but
 *     for words marked `expands`, of which the shell makes any number of other words.
 *  2. Everything else is undefined: substitutions, variables, here-documents, process substitution,
 *     redirections to files, groups, brace expansion, comments, control characters, invisible
 *     characters and spaces that are not ASCII.
 */

/** Longer ones are not read. */
const CHARACTERS_MAX = 8_192;
const COMMANDS_MAX = 64;

export type ShellWord = {
  /** without quotes and escapes */
  readonly text: string;
  /** the shell makes other words of it: a glob, or a tilde */
  readonly expands: boolean;
  /** by index in `text`: characters that stood unquoted, for the `*` of patterns */
  readonly bare: readonly boolean[];
};

/** One program with its words. The first word is the program. */
export type SimpleCommand = {
  /** `NAME=value` in front of it */
  readonly assignments: readonly string[];
  readonly words: readonly [ShellWord, ...ShellWord[]];
};

/** The simple commands in order, at least one; undefined when the line cannot be read surely. */
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

/** The word so that the shell reads it as it is, whatever is in it. */
export const quoted = (word: string): string =>
  /^[\w@%+:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;

/** The text with what a person would not see, or would see elsewhere, written as `\u{202e}`. */
export const visible = (text: string): string =>
  text.replaceAll(
    new RegExp(deceiving, 'gu'),
    (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`,
  );

class Unreadable extends Error {}

/**
 * Control characters but tab and newline, format characters, spaces and line ends that are not
 * ASCII, halves of characters: a person who is shown the line would not see what it is.
 */
const deceiving = /[^\P{C}\t\n]|[^\P{Z} ]|\p{Default_Ignorable_Code_Point}/u;
const isDeceiving = (line: string): boolean => deceiving.test(line);

/** Unquoted, each of these begins something that is not read. */
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

  /** The operator at this place, `` at the end. */
  #separator(): string {
    const [operator = ''] =
      /^(?:&&|\|\||[\n;&|])/.exec(this.#line.slice(this.#at, this.#at + 2)) ?? [];
    this.#at += operator.length;
    return operator;
  }

  /** Up to the next separator; undefined when there is nothing. */
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

  /** Only those that write to no file and read from none. */
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

  /** `{}` by itself, and `#` and `!` within a word, are what they are. */
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

  /** A line that is continued is one line; any other character stands for itself. */
  #escaped(word: WordBuilder): void {
    const next = this.#line[this.#at + 1];
    if (next === undefined || next === '\n') throw new Unreadable();
    word.quote();
    word.add(next, false);
    this.#at += 2;
  }
}

/** After these a line may end; after `&&`, `||` and `|` another command has to come. */
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

  /** Some of it is quoted: even an empty word is a word. */
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

/** The name and the sign have to stand unquoted; else it is a program of that name. */
const isAssignment = ({ text, bare }: ShellWord): boolean => {
  const [name] = /^[A-Za-z_]\w*=/.exec(text) ?? [];
  return name !== undefined && bare.slice(0, name.length).every(Boolean);
};
