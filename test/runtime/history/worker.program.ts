/** Lamps on the store of a folder, rung as fast as they can be, until the process is killed. */
import { createSystem, openEmbedded } from '../../../runtime/index.ts';
import { ada, lamp, lampType } from './lamps.ts';

const [path = '', keep = 'summary'] = process.argv.slice(2);
const ports = await openEmbedded({ path });
const kept = keep === 'full' ? 'full' : 'summary';
const system = await createSystem({ ...ports, actors: [lampType(kept)], shards: 1 });
for (let n = 0; ; n += 32) {
  await Promise.all(
    Array.from({ length: 32 }, (_, at) =>
      system.tell(lamp(at % 3), { type: at % 5 === 0 ? 'nothing' : 'ring', n: n + at }, ada),
    ),
  );
  process.stdout.write(`${n}\n`);
}
