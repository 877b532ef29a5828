/**
 * `message`: a message to the users of this conversation, with files of the workspace, or a
 * notification that the Notifier stores for a named person.
 *
 * A message of this conversation is part of `ToolResult.sent`. The session commits it once with the
 * call's result, however often the call runs. Its files are in the bucket before, named by their
 * content, so what is sent is what they were during the call. A notification's id is derived from
 * the call's key, so a repeated call sends nothing.
 */
import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { Type } from '@sinclair/typebox';
import {
  FILE_BYTES_MAX,
  type FilePart,
  FILES_MAX,
  imageTypeOf,
} from '../../../protocols/content.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import { notificationAddress } from '../../../protocols/notification.ts';
import { plainName } from '../../../protocols/plain-text.ts';
import type { Artifacts } from '../../../runtime/index.ts';
import { orRefusal, workspaceFor } from '../files/file-access.ts';
import { openToRead, PathRefused, type WorkspacePath, workspacePath } from '../files/paths.ts';
import type { SecretMask } from '../secret-mask.ts';
import { defineTool, type Tool, type ToolContext, type ToolResult } from '../tool.ts';

const NAME_CHARACTERS_MAX = 120;
/** Searched for secrets at once. */
const SLICE_BYTES = 256 * 1024;
/** Every bucket accepts it by default, and it is never shown as a page. */
const STORED_AS = 'application/octet-stream';

/** @param bucket where files are stored until they are sent */
export const messageTool = (bucket: Promise<Pick<Artifacts, 'put'>>): Tool =>
  defineTool({
    name: 'message',
    groups: ['messaging'],
    description:
      'Sends text to users. Without `to` it appears in this conversation at once, as a separate message, and may have files of the workspace; do not repeat it in your answer. With `to` that user is notified at once.',
    parameters: Type.Object(
      {
        text: Type.String({ minLength: 1, maxLength: 16_384 }),
        to: Type.Optional(
          Type.String({
            minLength: 1,
            maxLength: 256,
            description: 'name of the notified user; default the users of this conversation',
          }),
        ),
        files: Type.Optional(
          Type.Array(Type.String({ minLength: 1, maxLength: 4_096 }), {
            minItems: 1,
            maxItems: FILES_MAX,
            description: `paths in the workspace of files to send after the text; at most ${FILE_BYTES_MAX / 1_048_576} MiB each. Only without \`to\``,
          }),
        ),
      },
      { additionalProperties: false },
    ),
    class: 'keyed',
    parallel: false,
    run({ text, to, files: paths }, context) {
      if (to !== undefined && paths === undefined) return notify(to, text, context);
      return orRefusal(async () => {
        if (to !== undefined) throw new PathRefused('A notification has no files: leave out `to`.');
        const files = paths && (await storedFiles(paths, await bucket, context));
        const what =
          files === undefined ? 'The message was' : `The message with ${listOf(files)} was`;
        return {
          text: `${what} added to the conversation.`,
          sent: [{ to: context.sessionKey, text, ...(files && { files }) }],
        };
      });
    },
  });

async function notify(
  to: string,
  text: string,
  { tenant, system, idempotencyKey }: ToolContext,
): Promise<ToolResult> {
  const id = `message-${createHash('sha256').update(idempotencyKey).digest('hex').slice(0, 32)}`;
  const event = { type: 'notifier.send_notification', to, text, task_id: id };
  const answer = await system.ask(notificationAddress(tenant, id), event, {
    key: idempotencyKey,
  });
  if (answer.kind === 'answered')
    return { text: `${to} was notified (${id}).`, sent: [{ to, text }] };
  const why = answer.kind === 'refused' ? answer.error.message : 'there was no answer in time';
  return { text: `${to} was not notified: ${why}`, isError: true };
}

const listOf = (files: readonly FilePart[]): string =>
  files.map(({ name, bytes }) => `${name} (${bytes} bytes)`).join(', ');

/** @throws PathRefused for the model; TroupeError when the bucket is not available */
async function storedFiles(
  paths: readonly string[],
  bucket: Pick<Artifacts, 'put'>,
  context: ToolContext,
): Promise<readonly FilePart[]> {
  const root = await workspaceFor('read', context);
  const files: FilePart[] = [];
  for (const path of paths) {
    const at = await workspacePath(root, path);
    const contents = await contentsOf(root, at, context);
    const { hash } = await bucket
      .put(context.tenant, contents, { contentType: STORED_AS })
      .catch((error: unknown) => {
        throw forModel(error, at.shown);
      });
    files.push({ ...(await describe(at.shown, contents)), bytes: contents.length, hash });
  }
  return files;
}

async function contentsOf(
  root: string,
  at: WorkspacePath,
  { secrets }: Pick<ToolContext, 'secrets'>,
): Promise<Buffer> {
  const file = await openToRead(root, at);
  try {
    const { size } = await file.stat();
    if (size === 0) throw new PathRefused(`${at.shown} is empty: messengers send no empty files.`);
    if (size > FILE_BYTES_MAX)
      throw new PathRefused(
        `${at.shown} has ${size} bytes; at most ${FILE_BYTES_MAX} can be sent. Make it smaller, or send it in parts.`,
      );
    const contents = await file.readFile();
    if (await hasSecret(contents, secrets))
      throw new PathRefused(`${at.shown} contains a secret of this installation: remove it first.`);
    return contents;
  } finally {
    await file.close();
  }
}

/** Whether the mask would change the contents. Other work runs between slices. */
async function hasSecret(
  contents: Buffer,
  secrets: Pick<SecretMask, 'byteStream'>,
): Promise<boolean> {
  const masked = secrets.byteStream();
  let at = 0;
  const isChanged = (piece: Buffer) => !piece.equals(contents.subarray(at, (at += piece.length)));
  for (let from = 0; from < contents.length; from += SLICE_BYTES) {
    if (isChanged(masked.add(contents.subarray(from, from + SLICE_BYTES)))) return true;
    await turn();
  }
  return isChanged(masked.end());
}

/** The bucket accepts no more, or not this: the model can tell the user. */
const forModel = (error: unknown, shown: string): unknown =>
  error instanceof TroupeError && error.code !== 'UNAVAILABLE'
    ? new PathRefused(`${shown} cannot be sent: ${error.message}`)
    : error;

async function describe(
  shown: string,
  contents: Uint8Array,
): Promise<Pick<FilePart, 'name' | 'contentType'>> {
  const { lookup } = await import('mrmime');
  const name = plainName(basename(shown), NAME_CHARACTERS_MAX);
  return { name, contentType: imageTypeOf(contents) ?? lookup(name) ?? STORED_AS };
}
