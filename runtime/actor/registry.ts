/**
 * Registry: the actor types of one worker. Two versions of a type may coexist during a rolling
 * deployment: new actors get the highest version, stored actors keep the version that wrote them.
 */
import { TroupeError } from '../../protocols/errors.ts';
import type { ActorDefinition } from './definition.ts';

export type Registry = {
  /** The highest version of a type; undefined when it is not registered. */
  latest(type: string): ActorDefinition | undefined;
  /** By `type@version`. */
  exact(name: string): ActorDefinition | undefined;
  /** All of them, sorted by type, then version. */
  all(): readonly ActorDefinition[];
};

/** @throws TroupeError CONFLICT when a type@version is registered twice */
export function createRegistry(definitions: readonly ActorDefinition[]): Registry {
  const exact = new Map<string, ActorDefinition>();
  const latest = new Map<string, ActorDefinition>();
  for (const definition of definitions) {
    const { name, type, version } = definition;
    if (exact.has(name))
      throw new TroupeError(
        'CONFLICT',
        `the actor type ${name} is registered twice: raise the version of one`,
      );
    exact.set(name, definition);
    if (version > (latest.get(type)?.version ?? 0)) latest.set(type, definition);
  }
  const all = [...exact.values()].sort((a, b) =>
    a.type < b.type ? -1 : a.type > b.type ? 1 : a.version - b.version,
  );
  return { latest: (type) => latest.get(type), exact: (name) => exact.get(name), all: () => all };
}

/** As `type@version`, sorted. */
export const typesOf = (registry: Registry): readonly string[] =>
  registry.all().map(({ name }) => name);
