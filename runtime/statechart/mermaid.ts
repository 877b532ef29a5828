/**
 * Mermaid: a machine as a stateDiagram-v2, with every state and transition, without params and
 * function bodies.
 *
 * Mermaid draws a state where an arrow last named it, fails on an arrow from a state to one inside
 * it, and keeps one loop per state. So an arrow connects two states of one block, and its label
 * names the deeper states; a state with substates contains a placeholder `any`; the loops of a
 * state are merged.
 */
import type { AnyStateMachine, AnyStateNode, AnyTransitionDefinition } from 'xstate';
import { nodesOf } from './facts.ts';
import { labelOf, textOf } from './labels.ts';
import { type Part, sourceName, transitionsOf } from './parts.ts';

/** The machine as the text of one diagram. */
export function exportMermaid(machine: AnyStateMachine): string {
  const diagram: Diagram = { names: new Map(), arrows: new Map() };
  const taken = new Set<string>();
  for (const node of nodesOf(machine.root)) diagram.names.set(node, nameIn(taken, node));
  for (const node of nodesOf(machine.root)) {
    for (const transition of transitionsOf(node)) {
      for (const target of transition.target ?? [node])
        draw(diagram, node, target as AnyStateNode, transition);
    }
  }
  return `stateDiagram-v2\n${block(diagram, machine.root, '  ').join('\n')}\n`;
}

type Arrow = { readonly from: string; readonly to: string; readonly label: string };
type Diagram = {
  readonly names: Map<AnyStateNode, string>;
  /** by the state that contains their block */
  readonly arrows: Map<AnyStateNode, Arrow[]>;
};

/**
 * An identifier of Mermaid: the letters of the id, with a number where another state has the same.
 */
function nameIn(taken: Set<string>, { id }: AnyStateNode): string {
  const plain = id.replace(/\W/g, '_');
  let name = plain;
  for (let n = 2; taken.has(name); n++) name = `${plain}_${n}`;
  taken.add(name).add(anyOf(name));
  return name;
}

const anyOf = (name: string): string => `${name}_any`;

const isInside = (node: AnyStateNode, ancestor: AnyStateNode): boolean =>
  node === ancestor || (node.parent !== undefined && isInside(node.parent, ancestor));

const hasStates = (node: AnyStateNode): boolean =>
  node.type === 'compound' || node.type === 'parallel';

function draw(
  diagram: Diagram,
  source: AnyStateNode,
  target: AnyStateNode,
  transition: AnyTransitionDefinition,
): void {
  let holder = hasStates(source) || !source.parent ? source : source.parent;
  while (!isInside(target, holder) && holder.parent) holder = holder.parent;
  const from = endIn(diagram, holder, source);
  const to = endIn(diagram, holder, target);
  const label = [
    fullLabelOf(transition),
    from.deeper && `(from ${from.deeper})`,
    to.deeper && `(to ${to.deeper})`,
  ];
  const arrow: Arrow = {
    from: from.name,
    to: to.name,
    label: clean(label.filter(Boolean).join(' ')),
  };
  diagram.arrows.set(holder, [...(diagram.arrows.get(holder) ?? []), arrow]);
}

/**
 * Where an arrow ends in a block: at a state of the block, or at `any`; and the path on from there.
 */
function endIn(
  { names }: Diagram,
  holder: AnyStateNode,
  end: AnyStateNode,
): { name: string; deeper: string } {
  const depth = holder.path.length;
  const path = (from: number) => end.path.slice(from).join('.');
  if (holder.type === 'parallel') return { name: anyOf(names.get(holder)!), deeper: path(depth) };
  if (end === holder)
    return { name: hasStates(end) ? anyOf(names.get(end)!) : names.get(end)!, deeper: '' };
  return { name: names.get(holder.states[end.path[depth]!]!)!, deeper: path(depth + 1) };
}

function block(diagram: Diagram, node: AnyStateNode, indent: string): string[] {
  const name = diagram.names.get(node)!;
  const title = `${indent}state "${titleOf(node)}" as ${name}`;
  const arrows = linesOf(diagram.arrows.get(node) ?? []);
  if (!hasStates(node)) {
    return [
      title,
      ...(node.type === 'final' ? [`${indent}${name} --> [*]`] : []),
      ...arrows.map((line) => indent + line),
    ];
  }
  const inner = `${indent}  `;
  const start =
    node.type === 'compound'
      ? node.initial.target.map((child) => `[*] --> ${diagram.names.get(child)!}`)
      : [];
  const anchor = arrows.some((line) => line.includes(`${anyOf(name)} `))
    ? [`state "any" as ${anyOf(name)}`]
    : [];
  const children = Object.values(node.states).map((child) => block(diagram, child, inner));
  const regions = children.flatMap((lines, n) =>
    n > 0 && node.type === 'parallel' ? [`${inner}--`, ...lines] : lines,
  );
  const own = [...anchor, ...arrows].map((line) => inner + line);
  return [`${title} {`, ...start.map((line) => inner + line), ...regions, ...own, `${indent}}`];
}

/** One line per arrow; the loops of one state share theirs. */
function linesOf(arrows: readonly Arrow[]): string[] {
  const lines = new Map<string, string>();
  for (const [n, { from, to, label }] of arrows.entries()) {
    const key = from === to ? from : `${n} ${from}`;
    const before = lines.get(key);
    lines.set(key, before ? `${before}<br/>${label}` : `${from} --> ${to} : ${label}`);
  }
  return [...lines.values()];
}

function titleOf(node: AnyStateNode): string {
  if (node.type === 'history')
    return clean(`${node.key} (${node.history === 'deep' ? 'H*' : 'H'})`);
  const invokes = node.invoke.map(({ src }) => ` / invoke ${sourceName(src)}`).join('');
  return clean(`${node.key}${invokes}`);
}

/** `event [guard] / action, action`, as in Harel's charts. */
function fullLabelOf(transition: AnyTransitionDefinition): string {
  const actions = transition.actions.map((action) => textOf(action as Part));
  const effects = actions.length > 0 ? ` / ${actions.join(', ')}` : '';
  return `${labelOf(transition)}${effects}`;
}

/** What would end a label or a title in Mermaid's grammar. */
const clean = (text: string): string =>
  text
    .replaceAll('"', "'")
    .replaceAll(':', '∶')
    .replaceAll(';', ',')
    .replaceAll('#', '')
    .replace(/[\r\n]+/g, ' ');
