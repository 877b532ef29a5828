/** Payloads that come as files, as the work of a task reads them. */
import { checkArtifactFields, hasArtifact } from '../../protocols/artifact.ts';
import { describeErrors, epochMsOf } from '../../protocols/check.ts';
import type { Payload } from '../../protocols/envelope.ts';
import { errorData, TroupeError } from '../../protocols/errors.ts';
import type { Artifact } from '../../runtime/index.ts';
import type { ActionContext } from './action.ts';

/**
 * The file that the payload names, if it is one of the tenant's own and what its hash says;
 * undefined when the payload names none. A URL that was good when the envelope was made may have
 * run out since: work may begin late, and be tried again.
 *
 * @throws TroupeError INVALID_ARGUMENT (fields, another hash), FORBIDDEN (another bucket or
 * tenant), EXPIRED, NOT_FOUND, INTERNAL, UNAVAILABLE
 */
export async function readArtifact(
  context: Pick<ActionContext, 'tenant' | 'artifacts' | 'envelope'>,
  payload: Payload,
): Promise<{ contents: Uint8Array; artifact: Artifact } | undefined> {
  if (!hasArtifact(payload)) return undefined;
  const errors = checkArtifactFields(payload);
  if (errors.length > 0) {
    throw new TroupeError(
      'INVALID_ARGUMENT',
      `the payload's file is not named well: ${describeErrors(errors)}`,
      { details: { errors } },
    );
  }
  const named = await resolveInTime(context, payload['artifact_uri'] as string);
  const hash = payload['artifact_hash'] as string;
  if (named !== hash) {
    throw new TroupeError(
      'INVALID_ARGUMENT',
      `payload.artifact_hash is ${hash}, and payload.artifact_uri names the file ${named}`,
    );
  }
  return context.artifacts.get(context.tenant, hash);
}

async function resolveInTime(
  { tenant, artifacts, envelope }: Pick<ActionContext, 'tenant' | 'artifacts' | 'envelope'>,
  uri: string,
): Promise<string> {
  try {
    return await artifacts.resolve(tenant, uri);
  } catch (error) {
    const { code, details = {} } = errorData(error);
    const { hash, expiredAtMs } = details;
    const sentMs = epochMsOf(envelope.timestamp);
    if (code === 'EXPIRED' && typeof hash === 'string' && Number(expiredAtMs) >= sentMs)
      return hash;
    throw error;
  }
}
