/**
 * `troupe replay`: takes the recorded turns of an actor again, in this process, with the machines
 * of this program or of a module. Nothing is sent: effects are answered by their recorded outcomes.
 */
import { existsSync, readFileSync } from 'node:fs';
import type { ActorRecording } from '../../protocols/actor-view.ts';
import { parseAddress, isAddress } from '../../protocols/address.ts';
import { defined } from '../../protocols/defined.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { plainText } from '../../protocols/plain-text.ts';
import type { SimulationReplay } from '../../library/simulation/failure.ts';
import type { Replayed } from '../../runtime/history/replay.ts';
import type { ActorDefinition } from '../../runtime/index.ts';
import { gatewayHttp } from '../client/gateway-http.ts';
import { exitCodes } from '../exit.ts';
import type { TenantClientOptions } from '../options.ts';
import { printJson } from '../output.ts';
import { loading } from '../progress.ts';

export type ReplayOptions = TenantClientOptions & {
  /** a module that exports actor definitions */
  readonly against?: string;
  /** a replay file of a simulation */
  readonly file?: string;
};

/** Exit code 0 when all turns are equal, 1 when one differs. */
export async function replayActor(actor: string, options: ReplayOptions): Promise<number> {
  const { against, file, json } = options;
  if (!isAddress(actor))
    throw new TroupeError('INVALID_ARGUMENT', `${actor} is not an address: write tenant/type/key`);
  const recording = file === undefined ? await fetched(actor, options) : inFile(actor, file);
  const { bytes, supervisor, cell, shard, shards } = recording;
  const where = { cell, shard, shards };
  const [definitions, { unpackFullTurns }, { replay }] = await loading('the charts', () =>
    Promise.all([
      definitionsFor(parseAddress(actor).type, against),
      import('../../runtime/history/full-turns.ts'),
      import('../../runtime/history/replay.ts'),
    ]),
  );
  const turns = unpackFullTurns(Buffer.from(bytes, 'base64'));
  const by = supervisor !== undefined && isAddress(supervisor) ? { supervisor } : {};
  const result = replay(turns, definitions, { ...where, ...by });
  if (json) printJson(result);
  else process.stdout.write(textOf(result));
  return result.kind === 'equal' ? exitCodes.ok : exitCodes.failure;
}

async function fetched(actor: string, options: ReplayOptions): Promise<ActorRecording> {
  const send = await gatewayHttp(options);
  const query = new URLSearchParams(defined({ tenant: options.tenant }));
  const path = `/v1/actors/${encodeURIComponent(actor)}/recording?${query}`;
  return send<ActorRecording>({ method: 'GET', path });
}

/** @throws TroupeError when the file is no replay file, or has not that actor */
function inFile(actor: string, file: string): ActorRecording {
  const content = replayFile(file);
  if (content?.format !== 'troupe-simulation')
    throw new TroupeError('INVALID_ARGUMENT', `${file} is no replay file of a simulation`);
  const found = content.recordings?.find((one) => one.actor === actor);
  if (found) return found;
  const known = content.recordings?.map((one) => one.actor).join(', ');
  throw new TroupeError('NOT_FOUND', `${file} has no actor ${actor}; it has ${known}`);
}

/** undefined when it is no JSON document. @throws TroupeError NOT_FOUND */
function replayFile(file: string): Partial<SimulationReplay> | undefined {
  if (!existsSync(file)) throw new TroupeError('NOT_FOUND', `there is no file ${file}`);
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Partial<SimulationReplay>;
  } catch {
    return undefined;
  }
}

/** Those of the module replace those of the same type and version. */
async function definitionsFor(type: string, file?: string): Promise<readonly ActorDefinition[]> {
  const { shippedActors } = await import('../../actors/index.ts');
  const shipped = shippedActors();
  if (file === undefined) return shipped;
  const { chartsIn } = await import('../chart-module.ts');
  const own = (await chartsIn(file)).flatMap(({ definition }) => definition ?? []);
  if (!own.some((definition) => definition.type === type))
    throw new TroupeError(
      'NOT_FOUND',
      `${file} exports no definition of the actor type ${type}: export what defineActor returns`,
    );
  const names = new Set(own.map(({ name }) => name));
  return [...shipped.filter(({ name }) => !names.has(name)), ...own];
}

function textOf(result: Replayed): string {
  const kept = result.kept === 0 ? '' : `, ${result.kept} taken over as they were`;
  if (result.kind === 'equal') return `equal: ${result.turns} turns${kept}\n`;
  const { turn, at, input, recorded, replayed } = result;
  const side = (name: string, facts: unknown) => `  ${name}  ${plainText(JSON.stringify(facts))}\n`;
  return [
    `turn ${turn} differs (${new Date(at).toISOString()}, input ${plainText(input)})\n`,
    side('recorded', recorded),
    side('replayed', replayed),
  ].join('');
}
