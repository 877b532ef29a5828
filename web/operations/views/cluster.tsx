/** Cluster: the processes, their shards, the objectives, and the log of this process. */
import type { DiskSpace } from '../../../protocols/disk.ts';
import type { SystemInfoResult } from '../../../protocols/gateway/index.ts';
import { useRef } from 'preact/hooks';
import { Failure } from '../list-view.tsx';
import { Facts, Part, Pill } from '../pane.tsx';
import { useReading } from '../reading.ts';
import { StatePill } from '../state-pill.tsx';
import { strings } from '../strings.ts';
import type { ViewProps } from '../view-props.ts';
import {
  type ClusterProcess,
  lastOwners,
  type Move,
  Moves,
  movesBetween,
  Nodes,
} from './nodes.tsx';

type Shard = {
  readonly shard: number;
  readonly state: string;
  readonly epoch: number;
  readonly turnNo: number;
  readonly lag: number;
  /** more may wait than `lag`: its owner has not read its mailbox yet */
  readonly lagUnknown?: boolean;
  readonly residents: number;
  /** absent where there is one process only */
  readonly node?: string;
  readonly why?: string;
};
/** What `cluster.show` answers. */
type Whole = {
  readonly nodes: readonly ClusterProcess[];
  readonly shards: readonly Shard[];
  readonly placement?: { readonly status: string };
  readonly disks?: readonly DiskSpace[];
  readonly notices?: readonly string[];
};
type Objective = {
  readonly name: string;
  readonly target: number;
  readonly measured: number | null;
  readonly unit: string;
  readonly kept: boolean | null;
  readonly what: string;
};

const own = strings.cluster;
const HOUR_MS = 3_600_000;
const LOG_LINES = 200;
const MOVES_MAX = 50;

export const Cluster = ({ workspace, view }: ViewProps) => {
  const reading = useReading('cluster', async () => {
    const [info, status, slo, whole] = await Promise.all([
      workspace.request<SystemInfoResult>('system.info'),
      workspace.request<{ shards?: readonly Shard[]; runtimeVersion?: string }>('status'),
      workspace.operate<{ objectives: readonly Objective[] }>('slo').catch(() => undefined),
      // Operators of one tenant do not see the installation.
      workspace.operate<Whole>('cluster.show').catch(() => undefined),
    ]);
    return { info, status, objectives: slo?.objectives ?? [], whole };
  });
  const { info, status, objectives = [], whole } = reading.value ?? {};
  const shards = whole?.shards ?? status?.shards;
  const nodes = whole?.nodes ?? [];
  const nameOf = (node: string) => nodes.find((each) => each.node === node)?.name ?? node;
  const moves = useMoves(whole?.shards ?? []);
  return (
    <main class="view sheet" aria-label={own.title}>
      <Failure reading={reading} />
      {reading.value === undefined && reading.error === undefined && (
        <p class="loading">{strings.loading}</p>
      )}
      <Disks disks={whole?.disks ?? []} />
      <Notices own={whole?.notices ?? []} nodes={nodes} />
      {info && (
        <Part title={own.process}>
          <Facts
            facts={[
              [own.machine, `${info.machineName} · ${info.osLabel}`],
              [own.version, `troupe ${status?.runtimeVersion ?? ''} · Node ${info.nodeVersion}`],
              [own.uptime, own.hours(info.uptimeMs / HOUR_MS)],
              [own.load, info.loadAverage?.map((load) => load.toFixed(2)).join('  ')],
              [own.memory, `${own.gib(info.memoryFreeBytes)} / ${own.gib(info.memoryTotalBytes)}`],
              [
                own.disk,
                info.diskAvailableBytes === undefined ? '' : own.gib(info.diskAvailableBytes),
              ],
            ]}
          />
        </Part>
      )}
      {nodes.length > 0 && (
        <Nodes
          nodes={nodes}
          placement={whole?.placement?.status}
          workspace={workspace}
          onDrained={reading.again}
        />
      )}
      <Moves
        moves={moves.map((move) => ({ ...move, from: nameOf(move.from), to: nameOf(move.to) }))}
      />
      {shards && <Shards shards={shards} nameOf={nameOf} />}
      {objectives.length > 0 && <Objectives objectives={objectives} />}
      {view.offers.has('logs.tail') && <Log workspace={workspace} />}
    </main>
  );
};

/** Disks with too little space, first of all. */
const Disks = ({ disks }: { disks: readonly DiskSpace[] }) => {
  const short = disks.filter(({ state }) => state !== 'enough');
  return short.length === 0 ? null : (
    <Part title={own.disk}>
      {short.map(({ folder, state, freeBytes }) => (
        <p key={folder} role="alert">
          <Pill
            tone={state === 'readOnly' ? 'failed' : 'warn'}
            text={own.diskState[state === 'readOnly' ? 'readOnly' : 'low']}
          />{' '}
          {own.diskLeft(own.gib(freeBytes), folder)}
          {state === 'readOnly' && ` ${own.readOnlyHelp}`}
        </p>
      ))}
    </Part>
  );
};

/** Of the process that answers, and of the others by name. */
const Notices = (props: { own: readonly string[]; nodes: readonly ClusterProcess[] }) => {
  const ofNodes = props.nodes.flatMap(({ name, notices = [] }) =>
    notices.map((text) => `${name}: ${text}`),
  );
  const all = props.nodes.length > 0 ? ofNodes : props.own;
  return (
    <>
      {all.map((text) => (
        <p key={text} role="alert">
          <Pill tone="warn" text={own.notice} /> {text}
        </p>
      ))}
    </>
  );
};

/** Changes of owners since the view was opened, newest first. */
const useMoves = (shards: readonly Shard[]): readonly Move[] => {
  const reading = useRef<readonly Shard[]>([]);
  const owners = useRef<ReturnType<typeof lastOwners>>([]);
  const moves = useRef<readonly Move[]>([]);
  if (shards.length > 0 && shards !== reading.current) {
    const found = movesBetween(owners.current, shards, Date.now());
    reading.current = shards;
    owners.current = lastOwners(owners.current, shards);
    moves.current = [...found, ...moves.current].slice(0, MOVES_MAX);
  }
  return moves.current;
};

const Shards = (props: { shards: readonly Shard[]; nameOf: (node: string) => string }) => (
  <Part title={own.shards}>
    <div class="table-box" tabIndex={0} role="group" aria-label={own.shards}>
      <table>
        <thead>
          <tr>
            {[
              own.shard,
              strings.state,
              ...(props.shards.some(({ node }) => node) ? [own.worker] : []),
              own.epoch,
              own.turns,
              own.lag,
              own.residents,
            ].map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {props.shards.map(
            ({ shard, state, epoch, turnNo, lag, lagUnknown, residents, node, why }) => (
              <tr key={shard}>
                <th scope="row">{shard}</th>
                <td>
                  <StatePill state={state} /> {why}
                </td>
                {node !== undefined && <td>{props.nameOf(node)}</td>}
                <td>{epoch}</td>
                <td>{strings.number(turnNo)}</td>
                <td class={lag > 0 ? 'warn' : ''}>
                  {lagUnknown ? (strings.states['unknown'] ?? '') : strings.number(lag)}
                </td>
                <td>{residents}</td>
              </tr>
            ),
          )}
        </tbody>
      </table>
    </div>
  </Part>
);

const valueText = (value: number, unit: string): string =>
  unit === 'ratio' ? `${(value * 100).toFixed(3)} %` : `${Math.round(value * 10) / 10} ${unit}`;

const Objectives = ({ objectives }: { objectives: readonly Objective[] }) => (
  <Part title={own.objectives}>
    <ul class="plain-list">
      {objectives.map(({ name, target, measured, unit, kept, what }) => (
        <li key={name}>
          <Pill
            tone={kept === null ? 'idle' : kept ? 'ok' : 'failed'}
            text={kept === null ? own.noData : kept ? own.met : own.notMet}
          />{' '}
          {own.objectiveTexts[name] ?? what}{' '}
          <span class="muted">
            {measured !== null && `${valueText(measured, unit)} · `}
            {own.target} ≤ {valueText(target, unit)}
          </span>
        </li>
      ))}
    </ul>
  </Part>
);

/** The newest lines; the reading repeats, so it follows the log. */
const Log = ({ workspace }: Pick<ViewProps, 'workspace'>) => {
  const reading = useReading('log', () =>
    workspace.request<{ lines: readonly string[] }>('logs.tail', { limit: LOG_LINES }),
  );
  return (
    <Part title={own.logs}>
      <Failure reading={reading} />
      <ol class="log-lines" tabIndex={0} aria-label={own.logs}>
        {reading.value?.lines.toReversed().map((line, at) => (
          <LogLine key={at} line={line} />
        ))}
      </ol>
    </Part>
  );
};

const LogLine = ({ line }: { line: string }) => {
  const { time, level = '', message = line } = recordOf(line);
  return (
    <li class={LINE_TONES[level]}>
      {time !== undefined && <time>{new Date(time).toISOString().slice(11, 19)}</time>} {message}
    </li>
  );
};

const LINE_TONES: Readonly<Record<string, string>> = {
  warn: 'warn',
  error: 'failed',
  fatal: 'failed',
};

/** As the method logs.tail writes lines. */
type LogRecord = { readonly time?: string; readonly level?: string; readonly message?: string };

const recordOf = (line: string): LogRecord => {
  try {
    return JSON.parse(line) as LogRecord;
  } catch {
    return {};
  }
};
