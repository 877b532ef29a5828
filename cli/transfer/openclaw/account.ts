/**
 * The account of imports: `imports/openclaw.json` in the data folder. For each imported item it has
 * the hash of its source, its name here and the time, so that a repeated import skips it, and so
 * that a session is found by the key that it had in OpenClaw.
 */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { TroupeError } from '../../../protocols/errors.ts';

export type Accounted = {
  readonly hash: string;
  readonly target: string;
  /** ISO 8601 */
  readonly at: string;
};

export class Account {
  readonly path: string;
  readonly #items: Map<string, Accounted>;

  /** @throws TroupeError CONFLICT when the file is not an account */
  constructor(home: string) {
    this.path = join(home, 'imports', 'openclaw.json');
    this.#items = new Map(Object.entries(read(this.path)));
  }

  of(kind: string, id: string): Accounted | undefined {
    return this.#items.get(`${kind} ${id}`);
  }

  add(kind: string, id: string, entry: Omit<Accounted, 'at'>): void {
    this.#items.set(`${kind} ${id}`, { ...entry, at: new Date().toISOString() });
  }

  save(): void {
    mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 });
    const draft = `${this.path}.${process.pid}.new`;
    const items = Object.fromEntries(this.#items);
    writeFileSync(draft, `${JSON.stringify({ version: 1, items }, null, 2)}\n`, { mode: 0o600 });
    renameSync(draft, this.path);
  }
}

function read(path: string): Record<string, Accounted> {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw error;
  }
  try {
    const { items } = JSON.parse(text) as { items: Record<string, Accounted> };
    if (typeof items === 'object' && items !== null) return items;
  } catch {
    // Reported below.
  }
  throw new TroupeError(
    'CONFLICT',
    `${path} is damaged: remove it; what is there already is found without it`,
  );
}
