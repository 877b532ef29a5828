/** The download of a file that an agent sent in a session. */
import { address } from '../../protocols/address.ts';
import type { FilePart } from '../../protocols/content.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { SessionEntry } from '../../protocols/session.ts';
import type { OperationContext } from '../operation.ts';
import { sessionNamed } from './find-session.ts';

export type SentFile = FilePart & {
  /** signed, GET only, for 15 minutes at most */
  readonly url: string;
};

/**
 * Reads the message, so that only files of the session's messages can be downloaded.
 * @param message position of the message in the transcript; `id` of `chat.history`
 * @throws TroupeError NOT_FOUND: no such session, message or file; UNAVAILABLE: the bucket
 */
export async function sentFile(
  { system, tenant, agents, sign }: OperationContext,
  { key, message, hash }: { readonly key: string; readonly message: number; readonly hash: string },
): Promise<SentFile> {
  const { sessionKey } = sessionNamed(
    { system, tenant, names: agents(tenant) },
    { sessionKey: key },
  );
  const actor = address(tenant, 'session', sessionKey);
  const [found] = await system.transcripts.read(actor, { from: message, limit: 1 });
  const entry = found?.position === message ? (found.entry as SessionEntry) : undefined;
  const files = entry?.type === 'assistant' ? (entry.files ?? []) : [];
  const file = files.find((one) => one.hash === hash);
  if (file === undefined)
    throw new TroupeError('NOT_FOUND', `message ${message} of ${sessionKey} has no such file`);
  return { ...file, url: await sign(tenant, hash) };
}
