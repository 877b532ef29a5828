/**
 * The program of device.test.ts: a system with one device actor, its node with the node's gateway,
 * and the callers of its commands.
 *
 * `node device-program.mjs DATA BOOK` invokes COMMANDS commands, which are the same at every start.
 * The node appends each command that it executes to DATA/executed before it answers. With BOOK
 * `book` it finds earlier commands there and repeats their answers. The last answer to each command
 * is a line of DATA/answers. The program exits when all commands have a final answer.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { shippedActors } from '../../actors/index.ts';
import { deviceAddress, type DeviceDeliver } from '../../protocols/device.ts';
import { createSystem, openEmbedded } from '../../runtime/index.ts';
import { FakeNode } from '../actors/device/fake-node.ts';
import { asks, deviceId } from '../actors/device/walk.ts';

const [data = '', book = ''] = process.argv.slice(2);
const COMMANDS = 240;
const AT_A_TIME = 6;
const principal = { sub: 'ada', roles: ['user'] };
const device = deviceAddress('default', deviceId);
const replays = book === 'book';

const executed = join(data, 'executed');
const done = (id: string): boolean =>
  existsSync(executed) && readFileSync(executed, 'utf8').split('\n').includes(id);

const actors = shippedActors().filter(({ type }) => type === 'device');
const ports = await openEmbedded({ path: join(data, 'store') });
const system = await createSystem({ ...ports, actors, shards: 1 });
await system.ask(device, asks({ approved: true }), { principal, timeoutMs: 20_000 });

/** Slow, so that a kill finds commands in every state. */
const slowly = async (node: FakeNode, { id }: DeviceDeliver): Promise<void> => {
  await sleep(2);
  if (!replays || !done(id)) appendFileSync(executed, `${id}\n`);
  await sleep(2);
  await node.answer(id, { json: JSON.stringify(id) });
};
const node: FakeNode = new FakeNode(system, {
  connId: `c-${process.pid}`,
  replays,
  execute: (command) => {
    void slowly(node, command);
    return null;
  },
});
await node.join();

const invoke = async (id: string): Promise<void> => {
  for (;;) {
    const answer = await system.ask(
      device,
      { type: 'device.invoke', id, command: 'camera.snap', paramsJson: '{}', timeoutMs: 60_000 },
      { principal, timeoutMs: 60_000 },
    );
    if (answer.kind === 'timeout') throw new Error(`${id} was not answered`);
    const error = answer.kind === 'refused' ? answer.error : undefined;
    if (error?.details?.['outcome'] === 'none') continue;
    const said = answer.kind === 'answered' ? answer.result : { unknown: error?.details };
    appendFileSync(join(data, 'answers'), `${JSON.stringify([id, said])}\n`);
    return;
  }
};
const ids = Array.from({ length: COMMANDS }, (_, n) => `i${n}`);
await Promise.all(
  Array.from({ length: AT_A_TIME }, async (_, lane) => {
    for (const id of ids.filter((__, n) => n % AT_A_TIME === lane)) await invoke(id);
  }),
);
appendFileSync(join(data, 'ended'), 'ended\n');
process.exit(0);
