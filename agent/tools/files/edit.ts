/**
 * `edit`: exact replacements in a text file of the workspace. A repeat that finds its own result
 * changes nothing and reports so. It is still of class `once`, because the same text may be the
 * result of another edit.
 */
import { Type } from '@sinclair/typebox';
import { orRefusal, workspaceFor } from './file-access.ts';
import { openToRead, PathRefused, type WorkspacePath, workspacePath } from './paths.ts';
import { TEXT_BYTES_MAX } from './read.ts';
import { replaceFile } from './replace-file.ts';
import { replaceIn } from './replacements.ts';
import { defineTool, type Tool } from '../tool.ts';

const TEXT_MAX = 1024 * 1024;

const EditSchema = Type.Object(
  {
    oldText: Type.String({
      minLength: 1,
      maxLength: TEXT_MAX,
      description: 'exactly as in the file, without the line numbers that read shows',
    }),
    newText: Type.String({ maxLength: TEXT_MAX }),
    all: Type.Optional(
      Type.Boolean({ description: 'replace every place; default: there must be exactly one' }),
    ),
  },
  { additionalProperties: false },
);

export const createEditTool = (): Tool =>
  defineTool({
    name: 'edit',
    groups: ['fs'],
    description:
      'Replaces exact text in a file of the workspace. Edits are applied in order, all or none.',
    parameters: Type.Object(
      {
        path: Type.String({
          minLength: 1,
          maxLength: 4_096,
          description: 'relative to the workspace',
        }),
        edits: Type.Array(EditSchema, { minItems: 1, maxItems: 100 }),
      },
      { additionalProperties: false },
    ),
    class: 'once',
    onlyFiles: true,
    parallel: false,
    run: ({ path, edits }, context) =>
      orRefusal(async () => {
        const root = await workspaceFor('write', context);
        const at = await workspacePath(root, path);
        const result = replaceIn(await textOf(root, at), edits, context.secrets);
        if (result.kind === 'refused') {
          return { text: `${at.shown} was not changed; ${result.why}`, isError: true };
        }
        if (result.kind === 'done') {
          return { text: `${at.shown} already has this text; nothing was changed.` };
        }
        await replaceFile(root, at, result.text);
        return { text: `Edited ${at.shown}: ${result.places} replaced.` };
      }),
  });

/** Decodes strictly: bytes that are not UTF-8 would change when the file is written back. */
async function textOf(root: string, at: WorkspacePath): Promise<string> {
  const file = await openToRead(root, at);
  try {
    const { size } = await file.stat();
    if (size > TEXT_BYTES_MAX) throw new PathRefused(`${at.shown} is too large: ${size} bytes.`);
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(await file.readFile());
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new PathRefused(`${at.shown} is not UTF-8 text, and edit accepts only that.`);
  } finally {
    await file.close();
  }
}
