/**
 * Check: whether a stored row is valid for a machine. XState restores invalid rows: it fills in new
 * regions without entering them, and accepts a state whose invoke was renamed. A row that passes
 * here means the same as when it was written; any other needs a migration.
 */
import { createHash } from 'node:crypto';
import type { AnyStateMachine, AnyStateNode } from 'xstate';
import { factsOf, nodesOf } from './facts.ts';
import type { MachineRow } from './live.ts';
import { actionsOf, nameOf, sourceName, type Part, transitionsOf } from './parts.ts';

/** What does not fit, each with the state or the job it is about; [] when the row is fit. */
export function checkRow(machine: AnyStateMachine, row: MachineRow): string[] {
  const { s: status, v: value, h: history = {} } = row.snap;
  const walk: Walk = { active: [], problems: [] };
  descend(machine.root, value, walk);
  const { active, problems } = walk;
  if (problems.length > 0) return problems;
  const { nodes } = factsOf(machine);
  for (const id of Object.entries(history).flat(2)) {
    if (!nodes.has(id)) problems.push(`${id}: a history refers to it, but there is no such state`);
  }
  const final = isFinal(machine.root, new Set(active));
  if (final !== (status === 'done')) {
    problems.push(
      `${machine.id}: the row is ${status}, but its state is ${final ? '' : 'not '}final`,
    );
  }
  if (status === 'active')
    problems.push(...jobProblems(active, row), ...timerProblems(active, row));
  return problems;
}

/**
 * Hash of a chart's states, transitions and names (not of the code behind the names): 16 hex
 * digits. Equal charts have equal hashes in every process.
 */
export function definitionHash(machine: AnyStateMachine): string {
  const hash = createHash('sha256');
  for (const node of nodesOf(machine.root)) hash.update(JSON.stringify(outline(node)));
  return hash.digest('hex').slice(0, 16);
}

type Walk = { readonly active: AnyStateNode[]; readonly problems: string[] };

/**
 * Collects the active nodes. No default is filled in: the value must reach every leaf by own keys.
 */
function descend(node: AnyStateNode, value: unknown, walk: Walk): void {
  walk.active.push(node);
  if (node.type === 'compound') return descendOne(node, value, walk);
  if (node.type === 'parallel') return descendAll(node, value, walk);
  if (value === undefined || (isTable(value) && Object.keys(value).length === 0)) return;
  walk.problems.push(
    `${node.id}: it has no states of its own now, the row has ${JSON.stringify(value)} in it`,
  );
}

function descendOne(node: AnyStateNode, value: unknown, walk: Walk): void {
  const keys = typeof value === 'string' ? [value] : isTable(value) ? Object.keys(value) : [];
  const [key] = keys;
  if (key === undefined || keys.length > 1) {
    walk.problems.push(
      `${node.id}: one of its states must be active, the row has ${JSON.stringify(value)}`,
    );
    return;
  }
  const child = childOf(node, key);
  if (child) descend(child, typeof value === 'string' ? undefined : (value as Table)[key], walk);
  else walk.problems.push(`${node.id}: there is no state '${key}'`);
}

function descendAll(node: AnyStateNode, value: unknown, walk: Walk): void {
  if (!isTable(value)) {
    walk.problems.push(
      `${node.id}: all of its regions must be active, the row has ${JSON.stringify(value)}`,
    );
    return;
  }
  for (const key of Object.keys(value)) {
    if (!childOf(node, key)) walk.problems.push(`${node.id}: there is no region '${key}'`);
  }
  for (const child of Object.values(node.states)) {
    if (child.type === 'history') continue;
    if (Object.hasOwn(value, child.key)) descend(child, value[child.key], walk);
    else walk.problems.push(`${node.id}: the region '${child.key}' is not in the row`);
  }
}

type Table = Record<string, unknown>;
const isTable = (value: unknown): value is Table =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const childOf = (node: AnyStateNode, key: string): AnyStateNode | undefined => {
  const child = Object.hasOwn(node.states, key) ? node.states[key] : undefined;
  return child?.type === 'history' ? undefined : child;
};

function isFinal(node: AnyStateNode, active: ReadonlySet<AnyStateNode>): boolean {
  const children = Object.values(node.states).filter((child) => active.has(child));
  if (node.type === 'compound') return children.some((child) => child.type === 'final');
  if (node.type === 'parallel') return children.every((child) => isFinal(child, active));
  return node.type === 'final';
}

/** Every invoke of an active state has its job, and every job such an invoke. */
function jobProblems(active: readonly AnyStateNode[], { jobs }: MachineRow): string[] {
  const invokes = new Map(
    active.flatMap((node) => node.invoke.map(({ id, src }) => [id, src] as const)),
  );
  const problems: string[] = [];
  for (const [id, { src }] of Object.entries(jobs)) {
    const now = invokes.get(id);
    if (now === undefined) problems.push(`job ${id}: no active state invokes it`);
    else if (now !== src)
      problems.push(`job ${id}: it ran '${src}', its state invokes '${sourceName(now)}' now`);
  }
  for (const id of invokes.keys()) {
    if (!Object.hasOwn(jobs, id))
      problems.push(`invoke ${id}: its state is active, but it was never started`);
  }
  return problems;
}

/** Every `after` of an active state has its timer, and every such timer its `after`. */
function timerProblems(active: readonly AnyStateNode[], { timers }: MachineRow): string[] {
  const awaited = new Set(
    active.flatMap((node) => node.after.map(({ eventType }) => eventType as string)),
  );
  const problems: string[] = [];
  for (const id of Object.keys(timers)) {
    if (id.startsWith('xstate.after.') && !awaited.has(id))
      problems.push(`timer ${id}: no active state waits for it`);
  }
  for (const id of awaited) {
    if (!Object.hasOwn(timers, id))
      problems.push(`timer ${id}: its state is active, but it was never armed`);
  }
  return problems;
}

const outline = (node: AnyStateNode): unknown => [
  node.id,
  node.type,
  node.history,
  node.type === 'compound' ? node.initial.target.map((target) => target.id) : [],
  node.invoke.map(({ id, src }) => [id, src]),
  node.tags,
  actionsOf(node).map(partName),
  transitionsOf(node).map((transition) => [
    transition.eventType,
    transition.target?.map((target) => target.id) ?? null,
    transition.reenter,
    transition.guard ? partName(transition.guard as Part) : null,
    transition.actions.map((action) => partName(action as Part)),
  ]),
];

const partName = (part: Part): string =>
  nameOf(part) ?? (typeof part === 'function' ? (part.type ?? part.name) : '');
