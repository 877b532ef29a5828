/** `read`: returns lines of a text file, the names in a folder, or an image, from the workspace. */
import type { FileHandle } from 'node:fs/promises';
import { opendir } from 'node:fs/promises';
import { normalize, relative } from 'node:path';
import { Type } from '@sinclair/typebox';
import { IMAGE_BYTES_MAX, type ImagePart, imageTypeOf } from '../../../protocols/content.ts';
import { orRefusal, workspaceFor } from './file-access.ts';
import { SHARED_SKILLS_PATH } from '../../prompt/agent-files.ts';
import {
  isFolder,
  isWithin,
  openFolder,
  openToRead,
  PathRefused,
  type WorkspacePath,
  workspacePath,
} from './paths.ts';
import { defineTool, type Tool, type ToolContext, type ToolResult } from '../tool.ts';

/** Maximum size of a text file, bytes. */
export const TEXT_BYTES_MAX = 32 * 1024 * 1024;
const LINES_DEFAULT = 2_000;
/**
 * Maximum size of the result; below the registry's limit, which must also fit the note about the
 * rest.
 */
const CHARACTERS_MAX = 48 * 1024;
const LINE_CHARACTERS_MAX = 2_000;
const NAMES_MAX = 500;
/** Maximum number of a folder's names that are read and sorted. */
const NAMES_LOOKED_AT_MAX = 2_000;

/**
 * `skillsFolder`: the folder of the shared skills, which the path `/skills` refers to; absent:
 * there are none.
 */
export const createReadTool = (skillsFolder?: string): Tool =>
  defineTool({
    name: 'read',
    groups: ['fs'],
    description:
      'Reads a file of the workspace: text with line numbers, images as images. ' +
      'For a folder it returns the names in it. Use offset and limit for long files.',
    parameters: Type.Object(
      {
        path: Type.String({
          minLength: 1,
          maxLength: 4_096,
          description: 'relative to the workspace',
        }),
        offset: Type.Optional(
          Type.Integer({ minimum: 1, description: 'first line, from 1; default 1' }),
        ),
        limit: Type.Optional(
          Type.Integer({ minimum: 1, maximum: 100_000, description: 'lines; default 2000' }),
        ),
      },
      { additionalProperties: false },
    ),
    class: 'repeatable',
    parallel: true,
    run: ({ path: given, offset = 1, limit = LINES_DEFAULT }, context) =>
      orRefusal(async () => {
        const { root, at } = await placeOf(given, skillsFolder, context);
        if (await isFolder(at.path)) return { text: await namesIn(root, at) };
        const bytes = await contentOf(await openToRead(root, at), at.shown);
        const image = imageTypeOf(bytes);
        if (image) return seen(image, bytes, at.shown);
        const text = context.secrets.text(textOf(bytes, at.shown));
        return { text: linesOf(text, offset, limit) };
      }),
  });

/** Shared skills are outside every workspace; every session with this tool may read them. */
async function placeOf(given: string, skillsFolder: string | undefined, context: ToolContext) {
  if (skillsFolder === undefined || !isWithin(SHARED_SKILLS_PATH, normalize(given))) {
    const root = await workspaceFor('read', context);
    return { root, at: await workspacePath(root, given) };
  }
  if (!(await isFolder(skillsFolder))) throw new PathRefused(`There is no ${SHARED_SKILLS_PATH}.`);
  const inside = relative(SHARED_SKILLS_PATH, normalize(given));
  return { root: skillsFolder, at: await workspacePath(skillsFolder, inside || '.') };
}

async function namesIn(root: string, at: WorkspacePath): Promise<string> {
  const folder = await openFolder(root, at);
  const names: string[] = [];
  try {
    for await (const entry of await opendir(folder.at)) {
      names.push(entry.name + (entry.isDirectory() ? '/' : entry.isSymbolicLink() ? '@' : ''));
      if (names.length > NAMES_LOOKED_AT_MAX) break;
    }
  } finally {
    await folder.close();
  }
  names.sort();
  const rest = names.length - NAMES_MAX;
  const many = names.length > NAMES_LOOKED_AT_MAX ? 'more than ' : '';
  const count = `${many}${Math.min(names.length, NAMES_LOOKED_AT_MAX)}`;
  return [
    `${at.shown || 'The workspace'} is a folder of ${count}:`,
    ...names.slice(0, NAMES_MAX),
    ...(rest > 0 ? [many ? '[and more: use exec]' : `[and ${rest} more]`] : []),
  ].join('\n');
}

async function contentOf(file: FileHandle, shown: string): Promise<Buffer> {
  try {
    const { size } = await file.stat();
    if (size > TEXT_BYTES_MAX) {
      throw new PathRefused(`${shown} has ${size} bytes, which is too large for read. Use exec.`);
    }
    return await file.readFile();
  } finally {
    await file.close();
  }
}

function seen(mimeType: ImagePart['mimeType'], bytes: Buffer, shown: string): ToolResult {
  const text = `${shown}: ${mimeType}, ${bytes.length} bytes`;
  return bytes.length > IMAGE_BYTES_MAX
    ? {
        text: `${text}; images of at most ${IMAGE_BYTES_MAX} bytes can be shown. Make it smaller.`,
        isError: true,
      }
    : { text, images: [{ mimeType, data: bytes.toString('base64') }] };
}

function textOf(bytes: Buffer, shown: string): string {
  if (!bytes.subarray(0, 8_192).includes(0)) return bytes.toString('utf8');
  throw new PathRefused(
    `${shown} is a binary file of ${bytes.length} bytes; read accepts text and images.`,
  );
}

/** Lines `offset` to `offset + limit - 1` with their numbers, and what was omitted. */
export function linesOf(text: string, offset: number, limit: number): string {
  if (text === '') return '[the file is empty]';
  const { count, begin } = linesIn(text, offset);
  if (offset > count) return `[the file has ${count} lines]`;
  const shown: string[] = [];
  let characters = 0;
  let at = begin;
  while (shown.length < limit && offset + shown.length <= count) {
    const end = text.indexOf('\n', at);
    const line = text.slice(at, end < 0 ? text.length : end);
    const numbered = `${String(offset + shown.length).padStart(5)}  ${cutLine(line)}`;
    characters += numbered.length + 1;
    if (characters > CHARACTERS_MAX && shown.length > 0) break;
    shown.push(numbered);
    at = end + 1;
  }
  const next = offset + shown.length;
  if (next <= count) {
    shown.push(`[lines ${next} to ${count} are left out: read with offset ${next}]`);
  }
  return shown.join('\n');
}

/**
 * The number of lines and the start of line `wanted`, without a list of lines: there may be
 * millions.
 */
function linesIn(text: string, wanted: number): { count: number; begin: number } {
  let [count, begin] = [1, 0];
  for (let at = 0; at < text.length - 1; at++) {
    if (text.charCodeAt(at) === LINE_END && ++count === wanted) begin = at + 1;
  }
  return { count, begin };
}

const LINE_END = 10;

const cutLine = (line: string): string =>
  line.length > LINE_CHARACTERS_MAX
    ? `${line.slice(0, LINE_CHARACTERS_MAX)} [cut: the line has ${line.length} characters]`
    : line;
