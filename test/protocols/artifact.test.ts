import { describe, expect, it } from 'vitest';
import { checkArtifactFields, hasArtifact } from '../../protocols/artifact.ts';

const artifact_uri = 'https://files.example/v1/artifacts/acme/1?exp=1&sig=2';
const artifact_hash = 'a'.repeat(64);
const good = { schema_version: '1.0', artifact_uri, artifact_hash, content_type: 'text/plain' };
const pathsOf = (payload: Record<string, unknown>) =>
  checkArtifactFields(payload).map(({ path }) => path);

describe('the fields of a payload in a file', () => {
  it('are address and hash together; the type is optional, and other fields are free', () => {
    expect(checkArtifactFields(good)).toEqual([]);
    expect(checkArtifactFields({ artifact_uri, artifact_hash })).toEqual([]);
    expect(checkArtifactFields({ ...good, subject: 's', more: { a: 1 } })).toEqual([]);
  });

  it('are absent in a payload without a file', () => {
    expect(checkArtifactFields({ schema_version: '1.0', text: 'a' })).toEqual([]);
    expect(hasArtifact({ text: 'a', content_type: 'text/plain' })).toBe(false);
    expect([hasArtifact({ artifact_uri }), hasArtifact({ artifact_hash })]).toEqual([true, true]);
  });

  it('are refused alone, with the path of the missing field', () => {
    expect(pathsOf({ artifact_uri })).toEqual(['/payload/artifact_hash']);
    expect(pathsOf({ artifact_hash })).toEqual(['/payload/artifact_uri']);
  });

  it.each([
    ['artifact_hash', 'A'.repeat(64)],
    ['artifact_hash', 'a'.repeat(63)],
    ['artifact_hash', 7],
    ['artifact_uri', 'file:///etc/passwd'],
    ['artifact_uri', 'gs://bucket/file'],
    ['artifact_uri', 'https://a b'],
    ['artifact_uri', `https://${'a'.repeat(4_096)}`],
    ['artifact_uri', null],
    ['content_type', 'text'],
    ['content_type', 'text/plain\r\nx: y'],
    ['content_type', {}],
  ])('are refused when %s is wrong (%#), without showing it', (field, value) => {
    const errors = checkArtifactFields({ ...good, [field]: value });
    expect(errors).toEqual([
      { path: `/payload/${field}`, message: expect.stringMatching(/^must /) as string },
    ]);
  });
});
