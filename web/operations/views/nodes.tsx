/** The processes of a cluster with their shards and load; drains a worker. */
import { Action } from '../action.tsx';
import { Part, Pill } from '../pane.tsx';
import { strings } from '../strings.ts';
import type { ViewProps } from '../view-props.ts';

/** The fields of a process of `cluster.show` that the page uses. */
export type ClusterProcess = {
  readonly node: string;
  readonly name: string;
  readonly role: 'worker' | 'gateway';
  readonly version: string;
  readonly draining: boolean;
  readonly cordoned: boolean;
  readonly labels: Readonly<Record<string, string>>;
  readonly shards: number;
  readonly notices?: readonly string[];
  readonly load: {
    readonly cpu: number;
    readonly eventLoop: number;
    readonly effects: number;
    readonly rssBytes: number;
    readonly turnsPerSecond: number;
  };
};

const own = strings.cluster;
const percent = (share: number): string => `${Math.round(share * 100)} %`;

type NodesProps = {
  readonly nodes: readonly ClusterProcess[];
  /** absent in a cluster without a root actor yet */
  readonly placement: string | undefined;
  readonly workspace: ViewProps['workspace'];
  onDrained(this: void): void;
};

const COLUMNS = [
  own.name,
  own.role,
  own.shards,
  own.turnsPerSecond,
  own.cpu,
  own.busy,
  own.effects,
  own.memoryUsed,
];

export const Nodes = (props: NodesProps) => {
  const { nodes, placement } = props;
  return (
    <Part title={own.processes}>
      {placement !== undefined && <p class="muted">{own.placement[placement] ?? placement}</p>}
      <div class="table-box" tabIndex={0} role="group" aria-label={own.processes}>
        <table>
          <thead>
            <tr>
              {COLUMNS.map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
              <td />
            </tr>
          </thead>
          <tbody>
            {nodes.map((each) => (
              <NodeRow key={each.node} each={each} {...props} />
            ))}
          </tbody>
        </table>
      </div>
    </Part>
  );
};

const isServing = ({ role, draining }: ClusterProcess): boolean => role === 'worker' && !draining;

const NodeRow = (props: NodesProps & { readonly each: ClusterProcess }) => {
  const { each, nodes, workspace, onDrained } = props;
  const { node, name, labels, role, draining, cordoned, shards, load } = each;
  // No other worker could own the shards of the last one.
  const mayDrain = isServing(each) && nodes.filter(isServing).length > 1;
  return (
    <tr>
      <th scope="row" title={node}>
        {name} <Labels labels={labels} />
      </th>
      <td>
        {own.roles[role]} {draining && <Pill tone="warn" text={own.draining} />}
        {cordoned && <Pill tone="warn" text={own.cordoned} />}
      </td>
      <td>{shards}</td>
      <td>{strings.number(Math.round(load.turnsPerSecond))}</td>
      <td>{percent(load.cpu)}</td>
      <td>{percent(load.eventLoop)}</td>
      <td>{load.effects}</td>
      <td>{own.gib(load.rssBytes)}</td>
      <td>
        {isServing(each) && (
          <Action
            label={cordoned ? own.uncordon : own.cordon}
            run={() =>
              workspace.operate(cordoned ? 'cluster.uncordon' : 'cluster.cordon', { node })
            }
            onDone={onDrained}
          />
        )}
        {mayDrain && (
          <Action
            label={own.drain}
            kind="danger"
            asks="sure"
            run={() => workspace.operate('cluster.drain', { node })}
            onDone={onDrained}
          />
        )}
      </td>
    </tr>
  );
};

const Labels = ({ labels }: Pick<ClusterProcess, 'labels'>) => (
  <small class="muted">
    {Object.entries(labels)
      .map(([name, value]) => `${name}=${value}`)
      .join(', ')}
  </small>
);

/** A change of the owner of a shard that this page saw. */
export type Move = {
  readonly at: number;
  readonly shard: number;
  readonly from: string;
  readonly to: string;
};

type Owned = { readonly shard: number; readonly node?: string };

/** The last known owners: of this reading, and earlier ones of shards without an owner. Pure. */
export const lastOwners = (before: readonly Owned[], after: readonly Owned[]): readonly Owned[] => {
  const owned = after.filter(({ node }) => node !== undefined);
  const left = before.filter(({ shard }) => !owned.some((each) => each.shard === shard));
  return [...owned, ...left];
};

/** The moves since the last known owners, of shards that have an owner now. Pure. */
export const movesBetween = (
  before: readonly Owned[],
  after: readonly Owned[],
  at: number,
): readonly Move[] =>
  after.flatMap(({ shard, node }) => {
    const was = before.find((each) => each.shard === shard)?.node ?? '';
    const isMove = before.length > 0 && node !== undefined && was !== node;
    return isMove ? [{ at, shard, from: was, to: node }] : [];
  });

export const Moves = ({ moves }: { moves: readonly Move[] }) =>
  moves.length === 0 ? null : (
    <Part title={own.moves}>
      <ol class="plain-list">
        {moves.map(({ at, shard, from, to }) => (
          <li key={`${at} ${shard}`}>
            <time dateTime={new Date(at).toISOString()}>{new Date(at).toLocaleTimeString()}</time>{' '}
            {own.moved(shard, from, to)}
          </li>
        ))}
      </ol>
    </Part>
  );
