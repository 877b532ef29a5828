/** Drives fragile.program.ts: calls are sent as lines, and a call may end the process. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Address } from '../../../protocols/address.ts';
import type { Message } from '../../../protocols/statechart.ts';
import type { AskAnswer, DeadLetter, SendOptions, UnknownEffect } from '../../../runtime/index.ts';
import { eventually } from '../eventually.ts';
import { bundle, type Child, type Program } from '../log/child.ts';
import { chosenBackbone } from './backbone.ts';
import { user } from './world.ts';

/** A call whose process ended before it answered. */
export const DIED = 'died';

export class Fragile {
  readonly #program: Program;
  readonly #path: string;
  #child: Child | undefined;
  #calls = 0;
  /** number of started processes */
  starts = 0;

  private constructor(program: Program, path: string) {
    this.#program = program;
    this.#path = path;
  }

  static async open(): Promise<Fragile> {
    const program = await bundle(join(import.meta.dirname, 'fragile.program.ts'));
    const path = await mkdtemp(join(tmpdir(), 'troupe-fragile-'));
    const fragile = new Fragile(program, path);
    onTestFinished(async () => {
      await fragile.kill();
      await program.remove();
      await rm(path, { recursive: true, force: true });
    });
    await fragile.start();
    return fragile;
  }

  /** Starts a process; returns whether it became ready. */
  async start(): Promise<boolean> {
    this.starts++;
    const url = chosenBackbone()?.url;
    const child = this.#program.start([this.#path, ...(url === undefined ? [] : [url])]);
    child.process.stdin!.on('error', () => {}); // the process may have ended
    this.#child = child;
    const ready = eventually(() => {
      if (!child.lines().includes('"ready"')) throw new Error(`not ready: ${child.stderr()}`);
      return true;
    });
    return Promise.race([ready, child.ended.then(() => false)]);
  }

  /** Starts processes until one answers a call. */
  async survive(startsMax = 12): Promise<void> {
    for (let starts = 0; starts < startsMax; starts++) {
      if ((await this.start()) && (await this.#livesOn())) return;
    }
    throw new Error(`none of ${startsMax} processes answered`);
  }

  async kill(): Promise<void> {
    this.#child?.process.kill('SIGKILL');
    await this.#child?.ended;
  }

  tell(to: Address, event: Message, options: Partial<SendOptions> = {}): Promise<unknown> {
    return this.call('tell', to, event, { principal: user, ...options });
  }

  ask(to: Address, event: Message, options: Partial<SendOptions> = {}): Promise<AskAnswer> {
    const sending = { principal: user, timeoutMs: 15_000, ...options };
    return this.call('ask', to, event, sending) as Promise<AskAnswer>;
  }

  async known<T>(actor: Address): Promise<T | undefined> {
    const found = (await this.call('inspect', actor)) as { context: T } | null;
    return found?.context;
  }

  letters(): Promise<readonly DeadLetter[]> {
    return this.call('letters') as Promise<readonly DeadLetter[]>;
  }

  unknown(): Promise<readonly UnknownEffect[]> {
    return this.call('unknown') as Promise<readonly UnknownEffect[]>;
  }

  /** The call's answer, or DIED when the process ended first. */
  async call(name: string, ...args: unknown[]): Promise<unknown> {
    const child = this.#child!;
    const n = ++this.#calls;
    child.process.stdin!.write(`${JSON.stringify({ n, name, args })}\n`);
    const answered = eventually(() => {
      const line = child
        .lines()
        .find((text) => text.startsWith(`{"n":${n},`) || text === `{"n":${n}}`);
      if (!line) throw new Error(`no answer to ${name}: ${child.stderr()}`);
      return (JSON.parse(line) as { answer?: unknown }).answer;
    });
    return Promise.race([answered, child.ended.then(() => DIED)]);
  }

  /**
   * Both shards answer a request, so every earlier message was processed without killing this
   * process.
   */
  async #livesOn(): Promise<boolean> {
    for (const key of ['probe-0', 'probe-1', 'probe-2', 'probe-3']) {
      const answer = await this.ask(`t/puppet/${key}` as Address, { type: 'do' });
      if ((answer as unknown) === DIED) return false;
    }
    return true;
  }
}
