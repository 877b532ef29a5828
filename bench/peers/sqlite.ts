/** What the benches use of better-sqlite3, which has no types of its own. */
export type Statement = {
  run(...values: unknown[]): unknown;
  all(...values: unknown[]): readonly { readonly rowid: number }[];
};

export type Database = new (
  path: string,
) => {
  exec(sql: string): unknown;
  prepare(sql: string): Statement;
  transaction(work: () => void): () => void;
};
