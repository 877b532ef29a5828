/** Text indexes of others. All rank in memory and read no files. */
import type MiniSearch from 'minisearch';
import { tokensOf } from '../../memory/tokens.ts';
import { installed } from './installed.ts';
import type { Statement, Database } from './sqlite.ts';

/** Best first: places in the list of texts. */
export type TextPeer = (question: string, count: number) => readonly number[];

/**
 * Ways to use SQLite FTS5: the default, which wants all words; any word; and any word by groups of
 * three characters, without marks, which finds most.
 */
export type Fts5Query = 'all' | 'any' | 'trigram';

/** undefined: better-sqlite3 is not installed */
export function fts5(texts: readonly string[], query: Fts5Query): TextPeer | undefined {
  const Sqlite = installed<Database>('better-sqlite3');
  if (Sqlite === undefined) return undefined;
  const database = new Sqlite(':memory:');
  const tokenizer = query === 'trigram' ? 'trigram remove_diacritics 1' : 'unicode61';
  database.exec(`CREATE VIRTUAL TABLE notes USING fts5(text, tokenize = '${tokenizer}')`);
  const insert = database.prepare('INSERT INTO notes (rowid, text) VALUES (?, ?)');
  database.transaction(() => {
    for (const [at, text] of texts.entries()) insert.run(at, text);
  })();
  const select: Statement = database.prepare(
    'SELECT rowid FROM notes WHERE notes MATCH ? ORDER BY rank LIMIT ?',
  );
  return (question, count) => {
    const words = (question.match(/[\p{L}\p{M}\p{N}]+/gu) ?? []).map((word) => `"${word}"`);
    const match = words.join(query === 'all' ? ' AND ' : ' OR ');
    return select.all(match, count).map(({ rowid }) => rowid);
  };
}

/** minisearch with troupe's tokens, with prefixes and fuzzy matching. */
export function minisearch(Index: typeof MiniSearch, texts: readonly string[]): TextPeer {
  const index = new Index<{ id: number; text: string }>({
    fields: ['text'],
    tokenize: tokensOf,
    processTerm: (term) => term,
  });
  for (const [id, text] of texts.entries()) index.add({ id, text });
  const how = { prefix: (term: string) => term.length > 3, fuzzy: 0.2 };
  return (question, count) =>
    index
      .search(question, how)
      .slice(0, count)
      .map(({ id }) => Number(id));
}
