/** Lays the settings of a cluster over a configuration. Pure. */
import { Value } from '@sinclair/typebox/value';
import type { ClusterValues } from '../../protocols/settings.ts';
import {
  type Config,
  findingsOf,
  pointerOf,
  schemaAt,
  showPointer,
  startChecks,
  whenApplied,
} from '../../runtime/config/index.ts';
import { holdsSecret } from '../../runtime/config/schema/fields.ts';
import { childPointer, parsePointer } from '../../runtime/config/pointer.ts';
import { allowed } from '../../runtime/config/checks/check.ts';
import { startRules } from '../start-rules.ts';

/** The configuration with these values, or why one of them cannot be used. */
export function withValues(
  config: Config,
  values: ClusterValues,
): { readonly config: Config } | { readonly problem: string } {
  let next: Config = config;
  for (const [path, value] of Object.entries(values)) {
    const pointer = pointerOf(path);
    const problem = problemOf(path, pointer, value);
    if (problem !== undefined) return { problem: `${path} ${problem}` };
    const schema = schemaAt(pointer)!;
    next = replaced(next, parsePointer(pointer), Value.Default(schema, structuredClone(value)));
  }
  const before = new Set(findingsOf([...startChecks, ...startRules], config).map(textOf));
  const found = findingsOf([...startChecks, ...startRules], next).map(textOf);
  const problems = found.filter((one) => !before.has(one));
  return problems.length > 0 ? { problem: problems.join('; ') } : { config: next };
}

const textOf = ({ pointer, message }: { pointer: string; message: string }): string =>
  `${showPointer(pointer)}: ${message}`;

/** Why a value cannot be set for a whole cluster; undefined if it can. */
function problemOf(path: string, pointer: string, value: unknown): string | undefined {
  const schema = schemaAt(pointer);
  if (schema === undefined) return 'is not a key of the configuration (docs/config.md)';
  const keys = parsePointer(pointer);
  // One key has one name in the settings, so that its present value is replaced.
  if (showPointer(pointer) !== path) return `is written ${showPointer(pointer)}`;
  const isListed = keys.some((_, at) => {
    const outer = schemaAt(keys.slice(0, at).reduce(childPointer, ''));
    return outer?.type === 'array';
  });
  if (whenApplied(pointer) !== 'process' || isListed || holdsSecret(schema))
    return 'cannot be set for the whole cluster: only keys that docs/config.md marks with "at once" can';
  const whole = Value.Default(schema, structuredClone(value));
  return Value.Check(schema, whole) ? undefined : `must be ${allowed(schema)}`;
}

/** A copy with the value at these keys; objects on the way are copied or created. */
const replaced = <T>(of: T, [key, ...rest]: readonly string[], value: unknown): T => {
  if (key === undefined) return value as T;
  const object = (of ?? {}) as Record<string, unknown>;
  return { ...object, [key]: replaced(object[key], rest, value) } as T;
};
