/** Which worker answers for a session now, as the cell itself shows it. */
import type { GatewayClient } from '../../client/gateway-client.ts';

type Shown = {
  readonly nodes: readonly { readonly node: string; readonly name: string }[];
  readonly shards: readonly { readonly shard: number; readonly node?: string }[];
};

const RESPONSE_MS_MAX = 3_000;

/** The shards of sessions, which never change. */
export class Owners {
  readonly #client: GatewayClient;
  readonly #shards: ReadonlyMap<string, number>;

  private constructor(client: GatewayClient, shards: ReadonlyMap<string, number>) {
    this.#client = client;
    this.#shards = shards;
  }

  /** @param sessions exist @throws TroupeError as the request */
  static async of(client: GatewayClient, sessions: readonly string[]): Promise<Owners> {
    const shards = new Map<string, number>();
    for (const session of sessions) {
      const params = { actor: `default/session/${session}` };
      const shown = await client.request('operations.run', { name: 'actors.show', params });
      shards.set(session, (shown as { readonly shard: { readonly shard: number } }).shard.shard);
    }
    return new Owners(client, shards);
  }

  /** Sessions by worker; undefined when the cell cannot say it now. */
  async now(): Promise<ReadonlyMap<string, readonly string[]> | undefined> {
    const shown = await this.#client
      .request('operations.run', { name: 'cluster.show' }, { timeoutMs: RESPONSE_MS_MAX })
      .catch(() => undefined);
    if (shown === undefined) return undefined;
    const { nodes, shards } = shown as unknown as Shown;
    const names = new Map(nodes.map(({ node, name }) => [node, name]));
    const owners = new Map(shards.map(({ shard, node = '' }) => [shard, names.get(node)]));
    const sessions = new Map<string, string[]>(nodes.map(({ name }) => [name, []]));
    for (const [session, shard] of this.#shards)
      sessions.get(owners.get(shard) ?? '')?.push(session);
    return sessions;
  }
}
