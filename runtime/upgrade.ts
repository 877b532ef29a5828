/**
 * Upgrade: what the processes of a cell can read and write, and the step that ends an upgrade.
 * Until it, new programs write what old ones read, so they can be replaced by the old ones again.
 */
import { TroupeError } from '../protocols/errors.ts';
import type { Finished, UpgradeProcess, UpgradeStatus } from '../protocols/upgrade.ts';
import { type Registry, typesOf } from './actor/registry.ts';
import type { CellFormat } from './cell-format.ts';
import type { Hosting } from './hosting.ts';
import { FORMATS } from './shard/commit/formats.ts';
import { FORMAT } from './shard/commit/record-format.ts';
import type { NodeStatus, ShardStatus } from './system.ts';

/** The processes of a cell, as one of them knows them; `nodes` is [] where there is one only. */
export type LiveProcesses = Pick<Hosting, 'nodes' | 'status' | 'isSettled'>;

type Parts = {
  readonly format: CellFormat;
  readonly registry: Registry;
  /** absent while no process uses the cell */
  readonly hosting?: LiveProcesses | undefined;
  /** of this program */
  readonly version?: string;
  readonly cluster?: { readonly version: string };
};

export class Upgrade {
  readonly #parts: () => Parts;

  constructor(parts: () => Parts) {
    this.#parts = parts;
  }

  /** @throws TroupeError UNAVAILABLE when the log does not answer */
  async status(): Promise<UpgradeStatus> {
    const cell = await this.#parts().format.read();
    const processes = this.#processes();
    const why = this.#refusal(processes);
    const isDone = cell.format >= FORMAT;
    return {
      program: { version: this.#version, reads: FORMAT },
      cell,
      formats: FORMATS,
      processes,
      finish: {
        to: FORMAT,
        state: isDone ? 'done' : why === undefined ? 'allowed' : 'refused',
        ...(!isDone && why !== undefined && { why }),
      },
    };
  }

  /**
   * Raises the format of the cell to the newest one of this program, durably. From then on older
   * programs refuse the cell. May be repeated.
   * @param by who does it
   * @throws TroupeError CONFLICT while a process lives that cannot read it; UNAVAILABLE when it is
   * not known whether it was stored
   */
  async finish(by: string, at: number): Promise<Finished> {
    const { finish } = await this.status();
    if (finish.state === 'refused')
      throw new TroupeError('CONFLICT', `the upgrade cannot be finished: ${finish.why}`);
    const raised = finish.state === 'allowed' && (await this.#parts().format.raise(by, at));
    return { ...(await this.status()), raised };
  }

  #processes(): readonly UpgradeProcess[] {
    const { hosting, registry, format } = this.#parts();
    if (!hosting) return [];
    const shards = hosting.status();
    const nodes = hosting.nodes();
    if (nodes.length > 0) return processesOf(nodes, shards);
    const owned = shards.map(({ shard }) => shard);
    const own = { version: this.#version, types: typesOf(registry), shards: owned };
    return [
      { ...own, name: 'this process', role: 'embedded', reads: FORMAT, writes: format.writes },
    ];
  }

  get #version(): string {
    const { version, cluster } = this.#parts();
    return version ?? cluster?.version ?? 'unknown';
  }

  #refusal(processes: readonly UpgradeProcess[]): string | undefined {
    const old = processes.filter(({ reads }) => reads < FORMAT);
    if (old.length > 0) return `${old.map(oldText).join(', ')}; replace or stop it first`;
    return this.#parts().hosting?.isSettled === false ? UNSETTLED : undefined;
  }
}

const UNSETTLED = 'this process cannot tell at present which others live; try again in a second';

const oldText = ({ role, name, version, reads }: UpgradeProcess): string =>
  `the ${role} ${name} (troupe ${version}) reads formats up to ${reads}, and the new one is ${FORMAT}`;

function processesOf(
  nodes: readonly NodeStatus[],
  shards: readonly ShardStatus[],
): readonly UpgradeProcess[] {
  const all = nodes.map(({ node, name, role, version, reads, writes, types }) => {
    const owned = shards.filter((shard) => shard.node === node).map(({ shard }) => shard);
    return { name, role, version, reads, writes, types, shards: owned };
  });
  return all.toSorted((a, b) => (`${a.role} ${a.name}` < `${b.role} ${b.name}` ? -1 : 1));
}
