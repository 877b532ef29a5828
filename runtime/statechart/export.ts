/**
 * Export: a machine as text that other tools open: JSON and TypeScript for Stately's editor
 * and its VS Code extension, Mermaid for documents. A picture of the chart: the machine's source
 * stays the truth.
 *
 * JSON and TypeScript are printed from the machine's own config, so they load back with the same
 * states and transitions. Functions are printed as JavaScript; names from outside of them are not
 * followed.
 */
import type { AnyStateMachine } from 'xstate';
import { hostActions } from '../../protocols/statechart.ts';
import { type BuiltIn, creatorOf, isBuiltIn, type Part } from './parts.ts';

export { exportMermaid } from './mermaid.ts';

/** `bare`: names only, without the source of any function. Default false. */
export type ExportOptions = { readonly bare?: boolean };

/**
 * The machine's config as JSON text that `createMachine` accepts. A function is `{ "$expr": source
 * }`; an inline `assign`, `raise` or guard is its name with its arguments as params.
 */
export const exportJson = (
  machine: AnyStateMachine,
  { bare = false }: ExportOptions = {},
): string => `${JSON.stringify(toJson(configOf(machine)), bare ? withoutSource : undefined, 2)}\n`;

/** The bare config on one line, for other programs. */
export const exportBare = (machine: AnyStateMachine): string =>
  JSON.stringify(toJson(configOf(machine)), withoutSource);

const withoutSource = (_: string, value: unknown): unknown =>
  isTable(value) && '$expr' in value ? undefined : value;

/**
 * The machine as one TypeScript module that exports `name`: `setup({...}).createMachine({...})`, a
 * literal without spread or computed key. Effects are placeholders and host actions do nothing in
 * it. In a bare module no action does anything, and every guard is true.
 */
export function exportTypeScript(
  machine: AnyStateMachine,
  name: string,
  { bare = false }: ExportOptions = {},
): string {
  const config = configOf(machine);
  const parts = implementationsOf(machine);
  const chart = print(bare ? bareOf(config) : config, '');
  const implementations = print(bare ? bareParts(parts) : parts, '', true);
  const used = CREATORS.filter((creator) =>
    new RegExp(`\\b${creator}\\(`).test(implementations + chart),
  );
  return [
    `// The chart of ${machine.id}, exported by troupe to be looked at. Types and outside names are left out.`,
    '// @ts-nocheck',
    `import { ${[...used, 'setup'].join(', ')} } from 'xstate';`,
    '',
    `export const ${name} = setup(${implementations}).createMachine(${chart});`,
    '',
  ].join('\n');
}

/** XState's creators that an export may call. */
const CREATORS = [
  'and',
  'assign',
  'cancel',
  'enqueueActions',
  'fromPromise',
  'not',
  'or',
  'raise',
  'stateIn',
];

/** As it was given to createMachine; `schemas` and `types` have no value at run time. */
function configOf(machine: AnyStateMachine): Table {
  const { schemas: _, types: __, ...config } = machine.config as Table;
  return config;
}

/** A value of a config or of its implementations, seen as what it is made of. */
type Table = Record<string, unknown>;
const isTable = (value: unknown): value is Table =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What a function that one of XState's creators made is to be called with again. */
function argumentsOf(part: BuiltIn): readonly unknown[] {
  switch (creatorOf(part)) {
    case 'assign':
      return [part.assignment];
    case 'raise':
      return [part.event, ...raiseOptions(part)];
    case 'cancel':
      return [part.sendId];
    case 'enqueueActions':
      return [part.collect];
    case 'stateIn':
      return [part.stateValue];
    case 'not':
      return part.guards ?? [];
    default:
      return part.guards ? [part.guards] : [];
  }
}

const raiseOptions = ({ id, delay }: BuiltIn): Table[] => {
  const options = {
    ...(id === undefined ? {} : { id }),
    ...(delay === undefined ? {} : { delay }),
  };
  return Object.keys(options).length > 0 ? [options] : [];
};

function toJson(value: unknown, key = ''): unknown {
  if (Array.isArray(value)) return value.map((item) => toJson(item));
  if (isBuiltIn(value as Part)) {
    const made = value as BuiltIn;
    return { type: `xstate.${creatorOf(made)}`, params: { args: toJson(argumentsOf(made)) } };
  }
  if (typeof value === 'function') return { $expr: sourceOf(value) };
  if (!isTable(value)) return value;
  // `on: { x: undefined }` forbids x; JSON has no undefined, and an empty transition means the
  // same.
  const entry = ([name, part]: [string, unknown]): [string, unknown] =>
    key === 'on' && part === undefined ? [name, {}] : [name, toJson(part, name)];
  return Object.fromEntries(Object.entries(value).map(entry));
}

/** The implementations that the config names, as literals. */
function implementationsOf({ implementations }: AnyStateMachine): Table {
  const { actors, actions, guards, delays } = implementations as unknown as Record<string, Table>;
  const parts: Table = {
    actors: mapTable(actors, () => new Code(PLACEHOLDER)),
    actions: mapTable(actions, (action, name) =>
      Object.hasOwn(hostActions, name) ? new Code('() => {}') : action,
    ),
    guards: guards ?? {},
    delays: delays ?? {},
  };
  return Object.fromEntries(
    Object.entries(parts).filter(([, part]) => Object.keys(part as Table).length > 0),
  );
}

const PLACEHOLDER = "fromPromise(() => Promise.reject(new Error('an effect of the host')))";

const mapTable = (table: Table | undefined, map: (value: unknown, key: string) => unknown): Table =>
  Object.fromEntries(Object.entries(table ?? {}).map(([key, value]) => [key, map(value, key)]));

/** What replaces the functions that `setup` names. */
const REPLACEMENTS: Readonly<Record<string, string>> = {
  actions: '() => {}',
  guards: '() => true',
  delays: '() => 1000',
};

const bareParts = (parts: Table): Table =>
  mapTable(parts, (table, kind) =>
    mapTable(table as Table, (part) =>
      typeof part === 'function' ? new Code(REPLACEMENTS[kind] ?? '() => {}') : part,
    ),
  );

/** A config without functions: inline ones are left out, or do nothing where something must be. */
function bareOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(bareOf);
  if (isBuiltIn(value as Part)) return bareBuiltIn(value as BuiltIn);
  if (typeof value === 'function') return new Code('() => true');
  if (!isTable(value)) return value;
  const kept = Object.entries(value).filter(
    ([key, part]) => key === 'guard' || typeof part !== 'function' || isBuiltIn(part as Part),
  );
  return Object.fromEntries(kept.map(([key, part]) => [key, bareOf(part)]));
}

function bareBuiltIn(made: BuiltIn): Code {
  const creator = creatorOf(made);
  if (creator === 'assign') return new Code('assign({})');
  if (creator === 'enqueueActions') return new Code('enqueueActions(() => {})');
  const args = argumentsOf(made).map((arg) => print(bareOf(arg), '', false));
  return new Code(`${creator}(${args.join(', ')})`);
}

/** Text that is printed as it is. */
class Code {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

const WIDTH = 100;

/**
 * A value as a TypeScript expression, on one line where it fits; `open` keeps a table on many
 * lines.
 */
function print(value: unknown, indent: string, open = indent === ''): string {
  if (value instanceof Code) return value.text;
  if (isBuiltIn(value as Part)) {
    const made = value as BuiltIn;
    const args = argumentsOf(made).map((arg) => print(arg, indent, false));
    return `${creatorOf(made)}(${args.join(', ')})`;
  }
  if (typeof value === 'function') return shift(sourceOf(value), indent);
  if (typeof value === 'string') return quote(value);
  if (Array.isArray(value))
    return printList(
      value.map((item) => print(item, `${indent}  `, false)),
      '[]',
      indent,
      false,
    );
  if (!isTable(value)) return String(value);
  const fields = Object.entries(value).map(
    ([key, part]) => `${keyText(key)}: ${print(part, `${indent}  `, false)}`,
  );
  return printList(fields, '{}', indent, open);
}

function printList(
  items: readonly string[],
  [left, right]: string,
  indent: string,
  open: boolean,
): string {
  if (items.length === 0) return `${left}${right}`;
  const gap = left === '{' ? ' ' : '';
  const line = `${left}${gap}${items.join(', ')}${gap}${right}`;
  if (!open && !line.includes('\n') && indent.length + line.length < WIDTH) return line;
  return `${left}\n${items.map((item) => `${indent}  ${item},\n`).join('')}${indent}${right}`;
}

/** The lines of a function after its first, moved to where the function is printed. */
function shift(source: string, indent: string): string {
  const [first, ...rest] = source.replace(/^\t+/gm, (tabs) => '  '.repeat(tabs.length)).split('\n');
  const depth = Math.min(
    ...rest.filter((line) => line.trim() !== '').map((line) => line.search(/\S/)),
  );
  return [first, ...rest.map((line) => indent + line.slice(depth))].join('\n');
}

const quote = (text: string): string =>
  `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
const keyText = (key: string): string => (/^[A-Za-z_$][\w$]*$/.test(key) ? key : quote(key));

/**
 * The source of a function as an expression. A method `name(x) {}` is made a function; native code
 * is left out.
 */
function sourceOf(value: unknown): string {
  const source = String(value);
  if (source.includes('[native code]')) return '() => {}';
  if (/^(async\s*)?(\(|function\b|[\w$]+\s*=>)/.test(source)) return source;
  const method = /^(async\s+)?(\*?)[^(]*(\([\s\S]*)$/.exec(source);
  return method ? `${method[1] ?? ''}function${method[2]} ${method[3]}` : '() => {}';
}
