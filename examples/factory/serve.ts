/**
 * Troupe with the agents of the trip: `node tools/run.mjs examples/factory/serve.ts FOLDER PORT`.
 * Prints its URL when it is ready, and stops at SIGTERM.
 */
import { join } from 'node:path';
import { startTroupe } from 'troupe/agents';
import { travelAgents } from './agents.ts';
import { World } from './world.ts';

const [folder, port] = process.argv.slice(2);
if (!folder || !port) {
  console.error('usage: serve.ts FOLDER PORT');
  process.exit(2);
}
const world = new World(join(folder, 'bookings.jsonl'), {
  clerkMs: Number(process.env['CLERK_MS'] ?? 0),
});
const troupe = await startTroupe({
  data: join(folder, 'troupe'),
  port: Number(port),
  ...travelAgents(world),
});
console.log(troupe.url);
process.once('SIGTERM', () => void troupe.stop());
