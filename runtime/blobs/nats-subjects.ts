/**
 * Subjects of blobs on JetStream. The tokens of a name are tokens of the subject, so the server can
 * list the names below a prefix:
 *   blb.{env}.m.{name}              the message that names a blob
 *   blb.{env}.c.{name}.{put}.{i}    chunk i of one put of the name
 *
 * The subject of a chunk has exactly two tokens more than its blob's name. So a filter with `*` for
 * both matches the chunks of one name, and never those of a name below it.
 */
import { escapeToken, unescapeToken } from '../../protocols/subjects.ts';

export class BlobSubjects {
  readonly #root: string;

  constructor(env: string) {
    this.#root = `blb.${escapeToken(env)}`;
  }

  named(name: string): string {
    return `${this.#root}.m.${tokensOf(name)}`;
  }

  chunk(name: string, put: string, index: number): string {
    return `${this.#root}.c.${tokensOf(name)}.${put}.${index}`;
  }

  chunksOfPut(name: string, put: string): string {
    return `${this.#root}.c.${tokensOf(name)}.${put}.*`;
  }

  chunksOfName(name: string): string {
    return `${this.#root}.c.${tokensOf(name)}.*.*`;
  }

  /** Matches every name that starts with the prefix, and possibly others. */
  namedBelow(prefix: string): string {
    return `${this.#root}.m.${folderOf(prefix)}>`;
  }

  /** Matches the chunks of every name that starts with the prefix, and possibly others. */
  chunksBelow(prefix: string): string {
    return `${this.#root}.c.${folderOf(prefix)}>`;
  }

  nameOf(named: string): string {
    return named
      .slice(this.#root.length + '.m.'.length)
      .split('.')
      .map(unescapeToken)
      .join('/');
  }

  /** The blob of a message; its put if it is a chunk. */
  holderOf(subject: string): { readonly name: string; readonly put?: string } {
    return subject.startsWith(`${this.#root}.m.`)
      ? { name: this.nameOf(subject) }
      : this.putOf(subject);
  }

  /** Name and put of a chunk. */
  putOf(chunk: string): { readonly name: string; readonly put: string } {
    const tokens = chunk.slice(this.#root.length + '.c.'.length).split('.');
    const name = tokens.slice(0, -2).map(unescapeToken).join('/');
    return { name, put: tokens.at(-2) ?? '' };
  }
}

const tokensOf = (name: string): string => name.split('/').map(escapeToken).join('.');

/** The complete tokens of a prefix, as the beginning of a subject. */
const folderOf = (prefix: string): string => {
  const slash = prefix.lastIndexOf('/');
  return slash < 0 ? '' : `${tokensOf(prefix.slice(0, slash))}.`;
};
