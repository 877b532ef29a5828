/**
 * The registry: finds a called tool, validates the arguments, limits the result.
 *
 * Invariants:
 *  1. A tool never receives arguments that its schema refuses.
 *  2. A mistake of a model becomes a result that explains it, never an exception: the run
 *     continues.
 *  3. No text of a result contains a secret value that the installation knows.
 *  4. A result has at most `resultBytesMax` bytes, or the tool's own limit, and its images are
 *     within the limits of a message.
 */
import type { TSchema } from '@sinclair/typebox';
import { type ValueError, ValueErrorIterator } from '@sinclair/typebox/errors';
import { Value } from '@sinclair/typebox/value';
import type { CheckError } from '../../protocols/check.ts';
import { IMAGE_BYTES_MAX, IMAGES_MAX } from '../../protocols/content.ts';
import { defined } from '../../protocols/defined.ts';
import type { ToolCall } from '../../protocols/session.ts';
import type { ToolSpec } from '../models/model.ts';
import type { Tool, ToolContext, ToolResult } from './tool.ts';

/** Maximum size of a result, bytes of UTF-8, including the note about a cut. */
export const resultBytesMax = 64 * 1024;

/** Maximum base64 characters of one image. */
const imageCharactersMax = 4 * Math.ceil(IMAGE_BYTES_MAX / 3);

/** Maximum number of argument errors in one message. */
const faultsMax = 5;

export type ToolRegistry = {
  /** Resolves when tools that change can be used; never rejects. */
  ready(): Promise<void>;
  /** In order of registration. */
  all(): readonly Tool[];
  /** The descriptions for models, in order of registration. */
  specs(): readonly ToolSpec[];
  /** Finds a tool by its name or an alias. */
  get(name: string): Tool | undefined;
  /**
   * Why a call is invalid, in words that a model can act on: an unknown tool, or arguments that the
   * schema refuses. undefined when it is valid.
   */
  check(name: string, args: unknown): string | undefined;
  /** Runs one call. @throws what the tool throws */
  run(call: Pick<ToolCall, 'name' | 'args'>, context: ToolContext): Promise<ToolResult>;
  /** Ends processes that calls left running; called once, after the last call. */
  close(): Promise<void>;
};

/** Tools that change while the process runs, such as those of MCP servers. */
export type ToolSource = {
  /** in a stable order; the same array until a tool changes */
  tools(): readonly Tool[];
  /** Resolves when the tools of the stored lists can be used, or after a time. Never rejects. */
  ready(): Promise<void>;
};

type Known = {
  readonly all: readonly Tool[];
  readonly specs: readonly ToolSpec[];
  readonly byName: ReadonlyMap<string, Tool>;
};

/**
 * @param source its tools follow the others; one with a taken or invalid name is left out
 * @throws Error when two of `tools` share a name or an alias, or a provider would refuse a name
 */
export const createToolRegistry = (tools: readonly Tool[], source?: ToolSource): ToolRegistry => {
  const fixed = knownOf(tools);
  let latest: { readonly changing: readonly Tool[]; readonly known: Known } | undefined;
  const known = (): Known => {
    const changing = source?.tools() ?? [];
    if (changing.length === 0) return fixed;
    if (latest?.changing !== changing) latest = { changing, known: extended(fixed, changing) };
    return latest.known;
  };
  const check = (name: string, args: unknown): string | undefined => {
    const tool = known().byName.get(name);
    return tool ? faultIn(args, tool) : unknownTool(name, known().all);
  };
  return {
    ready: async () => source?.ready(),
    all: () => known().all,
    specs: () => known().specs,
    get: (name) => known().byName.get(name),
    check,
    async run({ name, args }, context) {
      await source?.ready();
      const tool = known().byName.get(name);
      const fault = check(name, args);
      if (!tool || fault) return { text: fault ?? unknownTool(name, known().all), isError: true };
      const result = await tool.run(args, context);
      const text = context.secrets.text(result.text);
      return bounded({ ...result, text }, tool.resultBytesMax);
    },
    async close() {
      await Promise.all(known().all.map(async (each) => each.close?.()));
    },
  };
};

const namesOf = ({ name, aliases = [] }: Tool): readonly string[] => [name, ...aliases];
const isValidName = (name: string): boolean => /^[A-Za-z0-9_-]{1,64}$/.test(name);

/** @throws Error */
function knownOf(tools: readonly Tool[]): Known {
  const byName = new Map<string, Tool>();
  for (const tool of tools) {
    for (const name of namesOf(tool)) {
      if (!isValidName(name)) throw new Error(`Bad tool name: ${name}`);
      if (byName.has(name)) throw new Error(`Two tools are named ${name}`);
      byName.set(name, tool);
    }
  }
  return { all: tools, specs: tools.map(specOf), byName };
}

function extended({ all, specs, byName }: Known, changing: readonly Tool[]): Known {
  const names = new Map(byName);
  const added = changing.filter((tool) => {
    const isNew = namesOf(tool).every((name) => isValidName(name) && !names.has(name));
    if (isNew) for (const name of namesOf(tool)) names.set(name, tool);
    return isNew;
  });
  return { all: [...all, ...added], specs: [...specs, ...added.map(specOf)], byName: names };
}

/** The schema as plain JSON: TypeBox stores metadata under symbols. */
const specOf = ({ name, aliases, description, parameters }: Tool): ToolSpec => ({
  name,
  ...defined({ aliases }),
  description,
  parameters: JSON.parse(JSON.stringify(parameters)) as Record<string, unknown>,
});

const unknownTool = (name: string, known: readonly Tool[]): string =>
  `There is no tool named ${shown(name)}. Tools: ${known.map((tool) => tool.name).join(', ') || 'none'}.`;

/** Describes the argument errors; undefined when there are none. */
const faultIn = (args: unknown, tool: Tool): string | undefined => {
  if (typeof args === 'string') {
    return `The arguments of ${tool.name} are not valid JSON: ${shown(args)}. Write one JSON object.`;
  }
  const errors = tool.check?.(args) ?? errorsOf(tool.parameters, args);
  if (errors.length === 0) return undefined;
  const faults = errors.map(
    ({ path, message }) => `${path === '' ? 'the arguments' : path.slice(1)}: ${message}`,
  );
  const schema = JSON.stringify(tool.parameters);
  return `The arguments of ${tool.name} were refused: ${faults.join('; ')}. Its schema: ${schema}`;
};

const errorsOf = (
  parameters: TSchema,
  args: unknown,
): readonly Pick<CheckError, 'path' | 'message'>[] =>
  Value.Check(parameters, args) ? [] : firstOf(Value.Errors(parameters, args));

/** The first error at each path, because later ones follow from it. */
const firstOf = (errors: ValueErrorIterator): ValueError[] => {
  const byPath = new Map<string, ValueError>();
  for (const error of errors) {
    if (byPath.size === faultsMax) break;
    if (!byPath.has(error.path)) byPath.set(error.path, error);
  }
  return [...byPath.values()];
};

const shown = (text: string): string =>
  JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text);

/** The result within the limits of text and images, with a line about omitted images. */
const bounded = ({ images = [], ...result }: ToolResult, bytesMax?: number): ToolResult => {
  const kept = images.filter(({ data }) => data.length <= imageCharactersMax).slice(0, IMAGES_MAX);
  const more = images.length - kept.length;
  const note = more > 0 ? `[${more} images are left out: they are too many, or too large]\n` : '';
  return {
    ...result,
    text: cutText(note + result.text, bytesMax),
    ...(kept.length > 0 ? { images: kept } : {}),
  };
};

/** `text`, or the longest beginning that fits together with a note; never splits a character. */
export const cutText = (text: string, bytesMax = resultBytesMax): string => {
  const bytes = Buffer.byteLength(text);
  if (bytes <= bytesMax) return text;
  const note = `\n[cut: this is the beginning of ${bytes} bytes]`;
  const kept = Buffer.from(text).subarray(0, bytesMax - Buffer.byteLength(note));
  return new TextDecoder().decode(kept, { stream: true }) + note;
};
