/** `write`: replaces a whole text file of the workspace. Repeating it has no further effect. */
import { Type } from '@sinclair/typebox';
import { orRefusal, workspaceFor } from './file-access.ts';
import { workspacePath } from './paths.ts';
import { replaceFile } from './replace-file.ts';
import { defineTool, type Tool } from '../tool.ts';

/** Maximum content of one call, characters. */
const CONTENT_MAX = 4 * 1024 * 1024;

export const createWriteTool = (): Tool =>
  defineTool({
    name: 'write',
    groups: ['fs'],
    description:
      'Writes a complete file of the workspace and replaces its content. Creates missing folders.',
    parameters: Type.Object(
      {
        path: Type.String({
          minLength: 1,
          maxLength: 4_096,
          description: 'relative to the workspace',
        }),
        content: Type.String({ maxLength: CONTENT_MAX }),
      },
      { additionalProperties: false },
    ),
    class: 'repeatable',
    parallel: false,
    run: ({ path, content }, context) =>
      orRefusal(async () => {
        const root = await workspaceFor('write', context);
        const at = await workspacePath(root, path);
        await replaceFile(root, at, content);
        return { text: `Wrote ${Buffer.byteLength(content)} bytes to ${at.shown}.` };
      }),
  });
