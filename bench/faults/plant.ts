/**
 * Planted errors: a loss and two duplicates that really happen in the cell, to test the auditor. No
 * program of troupe does this; it is done to the streams of NATS and to the world outside.
 */
import { appendFileSync } from 'node:fs';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { type Address, shardOf } from '../../protocols/address.ts';
import { mailboxSubject } from '../../protocols/subjects.ts';
import { decodeMail } from '../../runtime/shard/commit/records.ts';
import type { Request } from '../../test/sim/auditor.ts';
import { effectsFile, effectsOf, worldOf } from './effects.ts';
import type { Stage } from './stage.ts';
import { until } from './until.ts';
import { ENV } from './worker.ts';

const LOST = 'planted-loss';
const DOUBLED = 'planted-duplicate';

/** Deletes an accepted message from its mailbox while no worker runs. */
export async function plantLoss(stage: Stage): Promise<void> {
  const { cell, chronicle, say } = stage;
  for (const machine of cell.machines) await cell.signal(machine, 'SIGKILL');
  const to = await send(stage, LOST);
  // later entries of the mailbox remain, so that its end is where it was
  await send(stage, 'planted-after-the-loss', to);
  const { subject, position } = await entryOf(stage, LOST, to);
  const fault = chronicle.begin(`${LOST}: ${subject} ${position} is deleted`);
  const nc = await connect({ servers: [cell.server.url] });
  const manager = await jetstreamManager(nc);
  const stream = await manager.streams.find(subject);
  if (!(await manager.streams.deleteMessage(stream, position)))
    throw new Error(`${subject} ${position} could not be deleted`);
  await nc.close();
  fault.ended();
  say(`deleted ${subject} ${position}`);
  for (const machine of cell.machines) await cell.start(machine);
  await cell.settled();
}

/** Stores an accepted message without a key twice, as a client does that repeats blindly. */
export async function plantDuplicate(stage: Stage): Promise<void> {
  const { cell, chronicle, say } = stage;
  const to = await send(stage, DOUBLED);
  const { subject, position, bytes } = await entryOf(stage, DOUBLED, to);
  const fault = chronicle.begin(`${DOUBLED}: ${subject} ${position} is stored again`);
  const answer = await cell.ports.store.log.append(subject, bytes);
  if (answer.kind !== 'stored') throw new Error(`the copy of ${subject} ${position} is refused`);
  fault.ended();
  say(`stored ${subject} ${position} again`);
}

/** Runs the external action of a `once` effect a second time. */
export async function plantSecondStart({ folder, chronicle, say }: Stage): Promise<void> {
  const startedOnce = () => effectsOf(folder).find(({ cls }) => cls === 'once');
  await until('a once effect starts', () => startedOnce() !== undefined);
  const { intent, attempt, cls } = startedOnce()!;
  const fault = chronicle.begin(`planted-effect: ${intent} runs again`);
  const world = worldOf((line) => appendFileSync(effectsFile(folder), `${line}\n`));
  await world.work(`:${intent}`, attempt, cls, { of: '', ms: 0, fails: false });
  fault.ended();
  say(`ran ${intent} again`);
}

/** Sends a message without a key. Returns its receiver. */
async function send({ cell, auditor, probes }: Stage, uid: string, to?: Address): Promise<Address> {
  const receiver = to ?? probes.addressIn(0);
  const request: Request = {
    uid,
    client: uid,
    seq: 1,
    to: receiver,
    keyed: false,
    outcome: 'pending',
  };
  auditor.request(request);
  const principal = { sub: 'planter', roles: [] };
  const answer = await cell.gateway.tell(receiver, { type: 'hard', uid }, { principal });
  if (answer.kind !== 'accepted')
    throw new Error(`${uid} is not accepted: ${JSON.stringify(answer)}`);
  request.outcome = 'accepted';
  return receiver;
}

/** The stored entry of a message. */
async function entryOf({ cell, probes }: Stage, uid: string, to: Address) {
  const shard = shardOf(to, probes.shards.length);
  const subject = mailboxSubject(ENV, shard, 'data');
  for (let from = 1; ; ) {
    const entries = await cell.ports.store.log.read(subject, from);
    const last = entries.at(-1);
    if (!last) throw new Error(`${uid} is in no entry of ${subject}`);
    for (const { position, bytes } of entries) {
      const entry = decodeMail(bytes);
      if (entry.kind === 'client' && entry.item.event['uid'] === uid)
        return { subject, position, bytes };
    }
    from = last.position + 1;
  }
}
