/**
 * The stored answers of a node, by idempotency key. A command that arrives again, also after a
 * restart, is answered from here and not executed again.
 *
 * Bound: the newest ANSWERS_MAX are stored; an older key is executed as a new command. Invariant: a
 * command is recorded before it starts. A recorded command without an answer was interrupted: its
 * outcome is reported as unknown and it never runs again.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../../runtime/config/index.ts';

const ANSWERS_MAX = 500;

export type Answer =
  | { readonly ok: true; readonly payloadJSON: string }
  | { readonly ok: false; readonly error: { readonly code: string; readonly message: string } };

const CUT_OFF: Answer = {
  ok: false,
  error: {
    code: 'UNAVAILABLE',
    message: 'the node was stopped while the command ran: it may have been executed',
  },
};

export class Answers {
  readonly #folder: string;
  /** started by this process and not answered yet */
  readonly #running = new Set<string>();

  constructor(folder: string) {
    this.#folder = folder;
    makeFolder(folder);
  }

  /**
   * `begin`: the command is new and is now recorded. `running`: it runs and will be answered.
   * Otherwise the stored answer.
   */
  begin(id: string): 'begin' | 'running' | Answer {
    if (this.#running.has(id)) return 'running';
    const known = this.#read(id);
    if (known !== undefined) return known === '' ? CUT_OFF : (JSON.parse(known) as Answer);
    this.#write(id, '');
    this.#running.add(id);
    this.#prune();
    return 'begin';
  }

  /** @throws when writing fails: then the command counts as interrupted */
  end(id: string, answer: Answer): void {
    this.#running.delete(id);
    this.#write(id, JSON.stringify(answer));
  }

  #read(id: string): string | undefined {
    try {
      return readFileSync(this.#path(id), 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  }

  /** Writes atomically. */
  #write(id: string, text: string): void {
    const path = this.#path(id);
    writeFileSync(`${path}.new`, text, { mode: 0o600, flush: true });
    renameSync(`${path}.new`, path);
  }

  /** Ids are untrusted input, so a file is named by the digest of its id. */
  #path(id: string): string {
    return join(this.#folder, createHash('sha256').update(id).digest('hex'));
  }

  #prune(): void {
    const names = readdirSync(this.#folder);
    if (names.length <= ANSWERS_MAX) return;
    const byAge = names
      .map((name) => ({ name, at: statSync(join(this.#folder, name)).mtimeMs }))
      .toSorted((a, b) => a.at - b.at);
    for (const { name } of byAge.slice(0, names.length - ANSWERS_MAX))
      rmSync(join(this.#folder, name), { force: true });
  }
}
