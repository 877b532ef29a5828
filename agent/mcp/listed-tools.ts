/**
 * The tools of a server as agents may have them: named, cleaned, limited and filtered. Pure.
 *
 * Everything in a list is text of others. Names of tools are stable: a name depends only on the
 * server and on the tool's own name.
 */
import { createHash } from 'node:crypto';
import { defined } from '../../protocols/defined.ts';
import type { LeftOut, ListedTool, ToolList } from '../../protocols/mcp-server.ts';
import { plainText } from '../../protocols/plain-text.ts';
import type { McpServerConfig } from '../../runtime/config/index.ts';

/** Tools of one server; the others are left out. */
const TOOLS_MAX = 256;
const DESCRIPTION_CHARACTERS_MAX = 4_096;
const SCHEMA_BYTES_MAX = 65_536;
/** Schemas and descriptions of one server together, bytes. */
const LIST_BYTES_MAX = 262_144;
const NAME_CHARACTERS_MAX = 64;
/** As the specification recommends. */
const SERVER_NAME_CHARACTERS_MAX = 128;
const HASH_CHARACTERS = 8;
/** Reasons that are kept, of tools that are left out. */
const LEFT_OUT_MAX = 100;

/** What a server says about a tool; its types are checked. */
export type ServerTool = {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly outputSchema?: Readonly<Record<string, unknown>> | undefined;
  readonly annotations?:
    | { readonly readOnlyHint?: unknown; readonly idempotentHint?: unknown }
    | undefined;
};

export function listedTools(
  server: string,
  tools: readonly ServerTool[],
  { allow, deny }: McpServerConfig['tools'],
): ToolList {
  const leftOut: LeftOut[] = [];
  const skip = (name: string, why: string) => {
    if (leftOut.length < LEFT_OUT_MAX) leftOut.push({ name: shown(name), why });
  };
  const listed = new Map<string, ListedTool>();
  let bytes = 0;
  const isAllowed = matcher(allow);
  const isDenied = matcher(deny);
  for (const tool of tools.toSorted(byName)) {
    const { name } = tool;
    if (name.length > SERVER_NAME_CHARACTERS_MAX) {
      skip(name, `its name has more than ${SERVER_NAME_CHARACTERS_MAX} characters`);
      continue;
    }
    if ((allow.length > 0 && !isAllowed(name)) || isDenied(name)) continue;
    const found = listedTool(server, tool);
    const size = sizeOf(found);
    if (listed.has(found.name)) skip(name, 'another tool has this name');
    else if (size > SCHEMA_BYTES_MAX) skip(name, `it has more than ${SCHEMA_BYTES_MAX} bytes`);
    else if (listed.size === TOOLS_MAX)
      skip(name, `only ${TOOLS_MAX} tools of a server are offered`);
    else if (bytes + size > LIST_BYTES_MAX)
      skip(name, `only ${LIST_BYTES_MAX} bytes of descriptions and schemas are offered`);
    else {
      bytes += size;
      listed.set(found.name, found);
    }
  }
  return { tools: [...listed.values()].toSorted(byName), leftOut };
}

const listedTool = (server: string, tool: ServerTool): ListedTool => ({
  name: toolName(server, tool.name),
  serverName: tool.name,
  description: descriptionOf(server, tool),
  inputSchema: tool.inputSchema,
  ...defined({ outputSchema: tool.outputSchema }),
  readOnly: tool.annotations?.readOnlyHint === true,
  idempotent: tool.annotations?.idempotentHint === true,
});

/**
 * `mcp__SERVER__TOOL`. A name that has other characters than providers accept, or is too long, ends
 * with a hash of the tool's own name, so that two tools never share a name.
 */
export function toolName(server: string, tool: string): string {
  const name = `mcp__${server}__${tool}`;
  if (/^[A-Za-z0-9_-]{1,64}$/.test(name) && tool !== '') return name;
  const hash = createHash('sha256').update(tool).digest('hex').slice(0, HASH_CHARACTERS);
  const kept = name.replaceAll(/[^A-Za-z0-9_-]+/g, '_');
  return `${kept.slice(0, NAME_CHARACTERS_MAX - HASH_CHARACTERS - 1)}_${hash}`;
}

function descriptionOf(server: string, { title, description, name }: ServerTool): string {
  const text = cleaned(description ?? title ?? name).slice(0, DESCRIPTION_CHARACTERS_MAX);
  return `${text.trim() || shown(name)} (tool of the MCP server ${server})`;
}

/** Each line without control characters and marks that reorder text. */
const cleaned = (text: string): string =>
  text
    .slice(0, 8 * DESCRIPTION_CHARACTERS_MAX)
    .split(/\r?\n/)
    .map((line) => plainText(line))
    .join('\n');

/** Whether one of the patterns matches, in which `*` means any characters. */
function matcher(patterns: readonly string[]): (name: string) => boolean {
  const expressions = patterns.map((pattern) => {
    const parts = pattern.split(/\*+/).map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&'));
    return new RegExp(`^${parts.join('[^]*')}$`);
  });
  return (name) => expressions.some((expression) => expression.test(name));
}

const sizeOf = ({ description, inputSchema, outputSchema = {} }: ListedTool): number =>
  Buffer.byteLength(description) + Buffer.byteLength(JSON.stringify([inputSchema, outputSchema]));

const shown = (name: string): string => plainText(name.slice(0, 100)).trim();

const byName = (one: { readonly name: string }, other: { readonly name: string }): number =>
  one.name < other.name ? -1 : one.name > other.name ? 1 : 0;
