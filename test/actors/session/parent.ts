/** A parent by pure transitions: it spawns subagents, ends, and queries its subagents. */
import type { Tell } from '../../../protocols/statechart.ts';
import { type SpawnLimits, subagentAddress } from '../../../protocols/subagent.ts';
import { endedOf, spawnLimits, spawnOf } from './bonds-walk.ts';
import { answer, call, Driven, resultOf, type Said } from './driven.ts';

export const limits: SpawnLimits = { ...spawnLimits, concurrentMax: 2 };
export const subagent = (id: string) => subagentAddress('default', id);
export const typesTo = (said: Said, id: string) =>
  said.tells.filter(({ to }) => to === subagent(id)).map(({ event }) => event.type);
export const tellIn = (said: Said, type: string): Tell['event'] | undefined =>
  said.tells.find(({ event }) => event.type === type)?.event;
export const resultOfSpawn = (said: Said) =>
  said.answers[0]?.result as { status: string; rule?: string; error?: string; queued?: boolean };

/** In a tool call of its first run. */
export const acting = (): Driven => {
  const session = new Driven();
  session.begin('r1');
  session.done('model', answer([call('a')]));
  return session;
};
export const spawn = (session: Driven, id: string, more: object = {}) =>
  session.send(spawnOf(id, session.context.run?.runId ?? 'r1', { limits, ...more }));
export const end = (session: Driven, id: string, more: object = {}) =>
  session.send(endedOf(id, more), subagent(id));
export const finish = (session: Driven) => {
  session.done('tools', [resultOf('a')]);
  return session.done('model', answer([]));
};
export const own = subagentAddress('default', 'main');
