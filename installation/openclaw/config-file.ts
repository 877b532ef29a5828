/**
 * The configuration file of OpenClaw: `openclaw.json` in JSON5, with `$include`. References to
 * environment variables (`${NAME}`) stay texts.
 */
import { dirname, join, resolve } from 'node:path';
import json5 from 'json5';
import { agentIdOfOpenClaw } from '../../protocols/openclaw-key.ts';
import { textIn } from './files-layout.ts';
import { type Fields, fieldsOf, isFields, textOf } from './found.ts';

const INCLUDES_MAX = 10;

/** @throws Error that names the file */
export function readConfig(state: string): Fields {
  return fieldsOf(read(join(state, 'openclaw.json'), state, []));
}

/** @param from the files that include this one, each below the former */
function read(path: string, state: string, from: readonly string[]): unknown {
  const text = textIn(path, state);
  if (text === undefined && from.length === 0) return {};
  if (text === undefined || from.includes(path) || from.length > INCLUDES_MAX)
    throw new Error(`${path} cannot be included`);
  try {
    return included(json5.parse(text), path, state, from);
  } catch (cause) {
    throw new Error(`${path}: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
  }
}

/** Replaces `$include`: the file, or several files, below the keys beside it. */
function included(value: unknown, path: string, state: string, from: readonly string[]): unknown {
  if (Array.isArray(value)) return value.map((one) => included(one, path, state, from));
  if (!isFields(value)) return value;
  const { $include, ...own } = value;
  const rest = Object.fromEntries(
    Object.entries(own).map(([name, below]) => [name, included(below, path, state, from)]),
  );
  const files = [$include].flat().flatMap((name) => textOf(name) ?? []);
  return files.reduceRight<unknown>((above, name) => {
    const file = resolve(dirname(path), name);
    return merged(read(file, state, [...from, path]), above);
  }, rest);
}

const merged = (below: unknown, above: unknown): unknown => {
  if (!isFields(below) || !isFields(above)) return above;
  const all = new Set([...Object.keys(below), ...Object.keys(above)]);
  return Object.fromEntries(
    [...all].map((name) => [
      name,
      Object.hasOwn(above, name) && Object.hasOwn(below, name)
        ? merged(below[name], above[name])
        : (Object.hasOwn(above, name) ? above : below)[name],
    ]),
  );
};

export type FoundAgent = {
  /** in lower case, as OpenClaw uses it */
  readonly id: string;
  /** as the configuration writes it */
  readonly written: string;
  /** further agents of the configuration with the same id: OpenClaw uses the first one */
  readonly repeated: readonly string[];
  readonly name?: string;
  readonly isDefault: boolean;
  readonly config: Fields;
};

/** The agents that the configuration names, in all three forms that it has had. */
export function agentsIn(config: Fields): readonly FoundAgent[] {
  const { list, entries, agents } = fieldsOf(config['agents']);
  const listed = [list, agents].flat().filter(isFields);
  const named = Object.entries(fieldsOf(entries)).map(([id, own]) => ({ ...fieldsOf(own), id }));
  const all: readonly Fields[] = [...listed, ...named];
  const found = new Map<string, FoundAgent>();
  for (const own of all) {
    const written = textOf(own['id']);
    if (written === undefined) continue;
    const id = agentIdOfOpenClaw(written);
    const name = textOf(own['name']) ?? textOf(fieldsOf(own['identity'])['name']);
    const isDefault = own['default'] === true;
    const first = found.get(id);
    const agent = { id, written, repeated: [], isDefault, config: own, ...(name ? { name } : {}) };
    found.set(id, first ? { ...first, repeated: [...first.repeated, written] } : agent);
  }
  const unique = [...found.values()];
  if (unique.length === 0)
    return [{ id: 'main', written: 'main', repeated: [], isDefault: true, config: {} }];
  if (unique.some(({ isDefault }) => isDefault)) return unique;
  const first = unique.find(({ id }) => id === 'main') ?? unique[0];
  return unique.map((agent) => (agent === first ? { ...agent, isDefault: true } : agent));
}
