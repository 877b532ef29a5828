/**
 * kill -9 of the process that runs a device actor, several times while commands are in progress.
 * The node executes no command twice, and each caller receives the node's result. An outcome is
 * unknown only if the node keeps no record of its results. `TROUPE_KILL_SEED` repeats a run.
 */
import { expect, it } from 'vitest';
import { scratchFolder } from '../runtime/config/folder.ts';
import { BundledProgram, linesOf } from './bundled-program.ts';
import { randomOf } from '../random.ts';

const KILLS = 4;
const SEED = Number(process.env['TROUPE_KILL_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const COMMANDS = 240;
/**
 * Upper bound of the commands between two kills. It leaves some for the last start: until a kill
 * follows, tens of them may be executed.
 */
const BETWEEN_MAX = 12;

const program = new BundledProgram('device');

it.each(['book', 'none'])(
  `a device killed ${KILLS} times executes no command twice (results: %s, seed ${SEED})`,
  { timeout: 300_000 },
  async (book) => {
    const random = randomOf(SEED);
    const data = scratchFolder();
    for (let n = 0; n < KILLS; n++) {
      const more = 1 + Math.floor(random() * BETWEEN_MAX);
      const wanted = linesOf(data, 'executed').length + more;
      await program.killWhen([data, book], () =>
        expect(linesOf(data, 'executed').length).toBeGreaterThanOrEqual(wanted),
      );
    }
    await program.output([data, book]);
    expect(linesOf(data, 'ended')).toHaveLength(1);
    const executed = linesOf(data, 'executed');
    expect(executed.length, 'no command is executed twice').toBe(new Set(executed).size);
    const answers = new Map(
      linesOf(data, 'answers').map((line) => JSON.parse(line) as [string, object]),
    );
    expect(answers.size).toBe(COMMANDS);
    const unknown = [...answers].filter(([, answer]) => 'unknown' in answer).map(([id]) => id);
    if (book === 'book') expect(unknown).toEqual([]);
    for (const [id, answer] of answers) {
      if (unknown.includes(id)) continue;
      expect(answer).toEqual({ payload: { json: JSON.stringify(id) } });
      expect(executed).toContain(id);
    }
  },
);
