/** Actions with files: a payload stored as a file, and evidence. */
import { createHash } from 'node:crypto';
import { TroupeError } from '../../protocols/errors.ts';
import type { Evidence } from '../../protocols/task.ts';
import type { Perform } from '../../actors/task/action.ts';
import { readArtifact } from '../../actors/task/artifact.ts';

/** @throws TroupeError INVALID_ARGUMENT unless there is exactly one of text and file */
export const largePayload: Perform = async (payload, context) => {
  const { text } = payload;
  const file = await readArtifact(context, payload);
  if ((file === undefined) === (text === undefined)) {
    throw new TroupeError(
      'INVALID_ARGUMENT',
      'send either payload.text, or a file as payload.artifact_uri and payload.artifact_hash',
    );
  }
  if (file) return { bytes: file.artifact.bytes, hash: file.artifact.hash };
  const bytes = Buffer.from(String(text));
  return { bytes: bytes.length, hash: createHash('sha256').update(bytes).digest('hex') };
};

/** The content depends only on the envelope, so a repeated attempt stores the same file. */
export const verifyJob: Perform = async ({ job_id }, context) => {
  const { tenant, taskId, envelope, artifacts } = context;
  const seen = { job_id, task_id: taskId, asked_at: envelope.timestamp, found: 'as it should be' };
  const contents = Buffer.from(`${JSON.stringify(seen)}\n`);
  const { hash } = await artifacts.put(tenant, contents, { contentType: 'application/json' });
  const evidence: Evidence = {
    ...(await artifacts.sign(tenant, hash)),
    job_id: String(job_id),
    verified: true,
    evidence_ts: new Date(context.now()).toISOString(),
    source_kind: 'document',
    verifier: 'conformance',
  };
  return evidence;
};
