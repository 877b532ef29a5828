/** The running program, to which a test sends many hostile requests of one protocol. */
import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { announced, runProgram, startProgram } from '../cli/program.ts';
import { scratchFolder, write } from '../runtime/config/folder.ts';
import { reservePort } from '../servers/reserve-port.ts';

/** How many requests a test sends; `TROUPE_HOSTILE_REQUESTS=10000` sends more. */
export const HOSTILE_REQUESTS = Number(process.env['TROUPE_HOSTILE_REQUESTS'] ?? 600);
const CONNECTIONS = 16;
/** More than the heap of a process that has warmed up varies by. */
const GROWTH_BYTES_MAX = 256 * 2 ** 20;

export type HostileProgram = {
  /** such as `http://127.0.0.1:4711` */
  readonly url: string;
  /** of an operator */
  readonly authorization: string;
  /**
   * Sends all requests, a quarter of them first, so that the program has warmed up. The rest must
   * neither let its memory grow, nor be logged as an error, nor end it.
   * @param send resolves with the status of the answer
   */
  sendAll<T>(
    this: void,
    requests: (count: number, seed: number) => Iterable<T>,
    send: (request: T) => Promise<number>,
  ): Promise<void>;
  /** open files and sockets of the program */
  openFiles(this: void): number;
};

export async function startHostileProgram(
  config: object,
  token: readonly string[] = ['--roles', 'operator'],
): Promise<HostileProgram> {
  const home = scratchFolder();
  write(home, 'troupe.json5', JSON.stringify(config));
  const port = await reservePort();
  const env = { TROUPE_HOME: home };
  const program = startProgram(['start', '--json', '--port', String(port)], { home, env });
  await announced(program, 60_000);
  const signed = await runProgram(['token', '--sub', 'ann', ...token], { home, env });
  const { pid } = program.child;
  const residentBytes = (): number =>
    1_024 * Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  return {
    url: `http://127.0.0.1:${port}`,
    authorization: `Bearer ${signed.stdout.trim()}`,
    openFiles: () => readdirSync(`/proc/${pid}/fd`).length,
    async sendAll(requests, send) {
      const statuses = new Map<number, number>();
      const sendSome = async (count: number, seed: number): Promise<void> => {
        // All connections take their requests from one iterator.
        const left = requests(count, seed)[Symbol.iterator]();
        const worker = async () => {
          for (let next = left.next(); !next.done; next = left.next()) {
            const status = await send(next.value);
            statuses.set(status, (statuses.get(status) ?? 0) + 1);
          }
        };
        await Promise.all(Array.from({ length: CONNECTIONS }, worker));
      };
      const first = Math.ceil(HOSTILE_REQUESTS / 4);
      await sendSome(first, 1);
      const before = residentBytes();
      await sendSome(HOSTILE_REQUESTS - first, 2);
      const growth = residentBytes() - before;
      const count = [...statuses.values()].reduce((sum, one) => sum + one, 0);
      expect(count).toBe(HOSTILE_REQUESTS);
      expect(growth).toBeLessThan(GROWTH_BYTES_MAX);
      expect(program.stdout + program.stderr).not.toMatch(/"level":[56]0/);
      expect(program.child.exitCode).toBeNull();
      console.info(`${count} requests, growth ${Math.round(growth / 2 ** 20)} MiB`, statuses);
    },
  };
}
