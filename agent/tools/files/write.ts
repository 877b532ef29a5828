/**
 * `write`: replaces a whole text file of the workspace. Repeating it has no further effect. Notes
 * of a day are append only: they may have been written by other sessions of the agent.
 */
import { lstat, realpath } from 'node:fs/promises';
import { relative } from 'node:path';
import { Type } from '@sinclair/typebox';
import { isDailyLog } from '../../context/daily-log.ts';
import { orRefusal, workspaceFor } from './file-access.ts';
import { openToRead, PathRefused, type WorkspacePath, workspacePath } from './paths.ts';
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
        await keepNotes(root, at, content);
        await replaceFile(root, at, content);
        return { text: `Wrote ${Buffer.byteLength(content)} bytes to ${at.shown}.` };
      }),
  });

/**
 * Without the line ends and trailing spaces of a person's editor, which a model does not repeat.
 */
const linesOf = (text: string): string =>
  text
    .replace(/^\uFEFF/, '')
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');

/** @throws PathRefused for the notes of a day, unless `content` begins with those in the file */
async function keepNotes(root: string, at: WorkspacePath, content: string): Promise<void> {
  if (!isDailyLog(relative(await realpath(root), at.path))) return;
  if (!(await lstat(at.path).catch(() => undefined))?.isFile()) return;
  const file = await openToRead(root, at);
  try {
    const notes = linesOf(await file.readFile('utf8')).trimEnd();
    if (linesOf(content).startsWith(notes)) return;
  } finally {
    await file.close();
  }
  throw new PathRefused(
    `${at.shown} is append only, and this content lacks notes that it has. Read it, and write all of them with the new ones at the end; edit corrects single notes.`,
  );
}
