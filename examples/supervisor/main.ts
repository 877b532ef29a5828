/**
 * Run it with `node tools/run.mjs examples/supervisor/main.ts`: a supervisor with three tills. One
 * of them fails under each restart strategy, and then too often.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  address,
  createSystem,
  openEmbedded,
  ROOT,
  type Strategy,
  type SupervisorRow,
  type SupervisorStart,
} from 'troupe';
import { shopActors } from './shop.ts';

const path = mkdtempSync(join(tmpdir(), 'troupe-supervisor-'));
const system = await createSystem({
  ...(await openEmbedded({ path })),
  actors: shopActors,
  supervisor: ROOT,
});
const principal = { sub: 'ada', roles: ['operator'] };

/** Starts three tills that have sold two items each, under their own supervisor. */
async function openShop(name: string, options: Partial<SupervisorStart>) {
  const supervisor = address('default', 'supervisor', name);
  const tills = [1, 2, 3].map((n) => address('default', 'till', `${name}-${n}`));
  const start: SupervisorStart = {
    type: 'supervisor.start',
    children: tills.map((child) => ({ child, start: { type: 'till.open' } })),
    ...options,
  };
  const answer = await system.ask(supervisor, start, { principal, timeoutMs: 10_000 });
  if (answer.kind !== 'answered') throw new Error(JSON.stringify(answer));
  // The sender of the first message is the parent, so wait until the supervisor has created them.
  await until(() => tills.every((till) => system.inspect(till)));
  for (const till of tills)
    for (let n = 0; n < 2; n++) await system.tell(till, { type: 'till.sell' }, { principal });
  const sold = () =>
    tills.map((till) => (system.inspect(till)?.context as { sold: number } | undefined)?.sold ?? 0);
  await until(() => sold().join() === '2,2,2');
  return { supervisor, tills, sold };
}

async function until(isSo: () => boolean): Promise<void> {
  for (const deadline = Date.now() + 10_000; !isSo(); await sleep(20))
    if (Date.now() > deadline) throw new Error('it took longer than 10 s');
}

const after: Readonly<Record<Strategy, string>> = {
  'one-for-one': '2,0,2',
  'one-for-all': '0,0,0',
  'rest-for-one': '2,0,0',
};

try {
  for (const strategy of ['one-for-one', 'one-for-all', 'rest-for-one'] as const) {
    const { tills, sold } = await openShop(strategy, { strategy });
    await system.tell(tills[1]!, { type: 'till.jam' }, { principal });
    await until(() => sold().join() === after[strategy]);
    console.log(`${strategy}: the second till jams; sold since their start: ${sold().join(', ')}`);
  }
  const parent = address('default', 'till', 'owner');
  const { supervisor, tills } = await openShop('hopeless', { intensity: 0, parent });
  await system.tell(tills[0]!, { type: 'till.jam' }, { principal });
  const row = () => system.index.get<SupervisorRow>('supervisors', 'default', 'hopeless');
  await until(() => row()?.status === 'halted');
  console.log(`intensity 0: ${supervisor} is ${row()?.status}: ${row()?.why?.message}`);
} finally {
  await system.stop();
  rmSync(path, { recursive: true, force: true });
}
