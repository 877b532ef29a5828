/** Labels: the causes, guards and actions of transitions in words, as Harel's charts write them. */
import type { AnyStateNode, AnyTransitionDefinition } from 'xstate';
import { creatorOf, isBuiltIn, nameOf, type Part } from './parts.ts';

/** `event [guard]` */
export const labelOf = ({ eventType, guard, source }: AnyTransitionDefinition): string =>
  `${causeOf(String(eventType), source as AnyStateNode)}${guard ? ` [${textOf(guard)}]` : ''}`;

/** An event type of XState as a chart shows it: `after retryDelay`, `done(call)`, `always`. */
export function causeOf(eventType: string, source: AnyStateNode): string {
  if (eventType === '') return 'always';
  const [, kind, what] =
    /^xstate\.(done\.actor|error\.actor|done\.state|after)\.(.*)$/.exec(eventType) ?? [];
  if (kind === 'done.actor') return `done(${what})`;
  if (kind === 'error.actor') return `error(${what})`;
  if (kind === 'done.state') return 'done';
  return kind === 'after' ? `after ${what!.slice(0, -source.id.length - 1)}` : eventType;
}

/** A guard or an action in words. */
export function textOf(part: Part): string {
  const name = nameOf(part);
  if (name !== undefined) return name;
  if (!isBuiltIn(part)) return 'inline';
  const creator = creatorOf(part);
  if (creator === 'stateIn') return `in ${JSON.stringify(part.stateValue)}`;
  return part.guards ? `${creator}(${part.guards.map(textOf).join(', ')})` : creator;
}
