/**
 * Artifacts in payloads: a file that is too large for an envelope is referred to by its URL and its
 * hash. This file defines the shapes only; the bucket decides whether the file belongs to the
 * tenant.
 */
import { Type } from '@sinclair/typebox';
import { type CheckError, checker, textMatching } from './check.ts';

/** SHA-256 as lower-case hex. */
const ArtifactHash = textMatching(/^[0-9a-f]{64}$/, 'a SHA-256: 64 lower-case hex digits', {
  description: 'SHA-256 of the file',
});
/** A signed URL. */
const ArtifactUri = textMatching(/^https?:\/\/[^\s"<>\\^`{|}]+$/, 'an http:// or https:// URL', {
  maxLength: 4_096,
  description: 'a signed URL of the tenant’s own bucket',
});
const ContentType = textMatching(
  /^[a-zA-Z0-9!#$&^_.+-]+\/[a-zA-Z0-9!#$&^_.+-]+( ?;.*)?$/,
  'a media type, as application/pdf',
  { maxLength: 255, description: 'of the file' },
);

/** Fields of a payload schema whose content may be a file. */
export const artifactFields = {
  artifact_uri: Type.Optional(ArtifactUri),
  artifact_hash: Type.Optional(ArtifactHash),
  content_type: Type.Optional(ContentType),
};

/** A payload may be sensitive: an error never contains its values. */
const check = checker(
  Type.Object({
    artifact_uri: ArtifactUri,
    artifact_hash: ArtifactHash,
    content_type: Type.Optional(ContentType),
  }),
  { secret: /^/ },
);

/** Whether the payload refers to a file. */
export const hasArtifact = (payload: Readonly<Record<string, unknown>>): boolean =>
  payload['artifact_uri'] !== undefined || payload['artifact_hash'] !== undefined;

/**
 * Errors of a payload's artifact fields, with paths from `/payload`; [] for a payload without a
 * file. URL and hash are required together; the type is optional.
 */
export const checkArtifactFields = (
  payload: Readonly<Record<string, unknown>>,
): readonly CheckError[] => {
  const answer = hasArtifact(payload) ? check(payload) : undefined;
  if (!answer || answer.ok) return [];
  return answer.errors.map(({ path, message }) => ({ path: `/payload${path}`, message }));
};
