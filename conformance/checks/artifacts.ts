/** Large payloads and evidence. */
import { createHash, randomUUID } from 'node:crypto';
import type { Evidence } from '../../protocols/task.ts';
import { type Check, checksOf } from '../check.ts';
import type { Trial } from '../trial.ts';

const URL_MS_MAX = 900_000;
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

type Ref = { artifact_uri: string; artifact_hash: string; content_type: string };

async function stored(t: Trial, text: string): Promise<Ref> {
  const bytes = new TextEncoder().encode(text);
  const headers = { 'content-type': 'text/plain', 'x-artifact-sha256': sha256(bytes) };
  const reply = await t.http.post('/v1/artifacts', bytes, { headers });
  t.expect(reply.status === 201, 'POST /v1/artifacts', reply);
  return reply.body as Ref;
}

const large = (t: Trial, { artifact_uri, artifact_hash, content_type }: Ref) =>
  t.envelope(t.action('large'), { artifact_uri, artifact_hash, content_type });

export const largePayloadChecks: readonly Check[] = checksOf('large payload', {
  'large.refused': [
    'a payload above the action’s max_payload_bytes is refused, and the error says what to do',
    async (t) => {
      const envelope = t.envelope(t.action('large'), { text: 'x'.repeat(300_000) });
      const { error, reply } = await t.refused(envelope, 'PAYLOAD_TOO_LARGE', '300 kB');
      t.expect(error.message.includes('artifact'), 'the error names artifact_uri', reply);
    },
  ],
  'large.by-reference': [
    'a stored file is accepted by artifact_uri and artifact_hash, and read completely',
    async (t) => {
      const text = `${randomUUID()}\n`.repeat(10_000);
      const ref = await stored(t, text);
      const view = await t.ended(await t.accepted(large(t, ref)));
      const { hash, bytes } = (view.result ?? {}) as { hash?: string; bytes?: number };
      t.expect(hash === ref.artifact_hash && bytes === text.length, 'read whole', view);
    },
  ],
  'large.signed-url': [
    'a signed URL reads one file and writes none; a modified URL is refused',
    async (t) => {
      const text = randomUUID();
      const { artifact_uri, artifact_hash } = await stored(t, text);
      const { status, bytes } = await t.http.fetch(artifact_uri);
      t.expect(status === 200 && sha256(bytes) === artifact_hash, 'GET reads it', { status });
      for (const method of ['PUT', 'DELETE', 'POST']) {
        const answer = await t.http.fetch(artifact_uri, method);
        t.expect(answer.status >= 400, `${method} is refused`, { status: answer.status });
      }
      const { status: changed } = await t.http.fetch(`${artifact_uri.slice(0, -4)}AAAA`);
      t.expect(changed >= 400, 'a changed signature is refused', { status: changed });
      const listed = await t.http.fetch(new URL('.', artifact_uri.split('?', 1)[0]).href);
      t.expect(listed.status >= 400, 'nothing is listed', { status: listed.status });
    },
  ],
  'large.lifetime': [
    'a signed URL is valid for 15 minutes at most',
    async (t) => {
      const { artifact_uri } = await stored(t, randomUUID());
      const query = new URL(artifact_uri).searchParams;
      const exp = query.get('exp');
      const left = exp === null ? Number(query.get('X-Amz-Expires')) * 1_000 : untilMs(exp);
      t.expect(left > 0 && left <= URL_MS_MAX + 5_000, `${Math.round(left / 1_000)} s`, {
        artifact_uri,
      });
    },
  ],
  'large.foreign-bucket': [
    'a URL outside the tenant’s bucket is refused',
    async (t) => {
      const artifact_uri = 'https://example.com/v1/artifacts/acme/file?exp=1&sig=x';
      const ref = { artifact_uri, artifact_hash: 'a'.repeat(64), content_type: 'text/plain' };
      const reply = await t.send(large(t, ref));
      const code = (reply.body as { error?: { code?: string } }).error?.code;
      const refused = code === 'FORBIDDEN' || code === 'INVALID_ARGUMENT';
      t.expect(refused, 'FORBIDDEN or INVALID_ARGUMENT', reply);
    },
  ],
  'large.wrong-hash': [
    'a file that does not match artifact_hash is not used',
    async (t) => {
      const ref = await stored(t, randomUUID());
      const reply = await t.send(large(t, { ...ref, artifact_hash: 'b'.repeat(64) }));
      if (reply.status >= 400) return;
      const view = await t.ended(reply.body as Parameters<Trial['ended']>[0]);
      t.expect(view.state === 'FAILED', 'refused, or FAILED', view);
    },
  ],
  'large.upload-checked': [
    'content that does not match its hash, or has a type that is not allowed, is not stored',
    async (t) => {
      const bytes = new TextEncoder().encode('contents');
      const wrong = { 'content-type': 'text/plain', 'x-artifact-sha256': 'c'.repeat(64) };
      const hash = await t.http.post('/v1/artifacts', bytes, { headers: wrong });
      t.expect(hash.status === 400, 'another hash', hash);
      const type = { 'content-type': 'application/x-msdownload' };
      const kind = await t.http.post('/v1/artifacts', bytes, { headers: type });
      t.expect(kind.status === 400 || kind.status === 415, 'a type that is not taken', kind);
    },
  ],
});

/** Epoch seconds or milliseconds. */
const untilMs = (text: string): number => {
  const value = Number(text);
  return (value > 1e11 ? value : value * 1_000) - Date.now();
};

export const evidenceChecks: readonly Check[] = checksOf('evidence', {
  'evidence.record': [
    'a verifier returns evidence, /evidence/{job_id} lists it, and its file matches its hash',
    async (t) => {
      const job_id = `conformance-${randomUUID()}`;
      const view = await t.call(t.action('verify'), { job_id });
      const evidence = view.result as Evidence;
      for (const field of [
        'artifact_uri',
        'artifact_hash',
        'content_type',
        'evidence_ts',
        'source_kind',
      ] as const)
        t.expect(typeof evidence?.[field] === 'string', `the evidence has ${field}`, view);
      const reply = await t.http.get(`/evidence/${job_id}`);
      const { records = [] } = reply.body as { records?: Evidence[] };
      const hashes = records.map(({ artifact_hash }) => artifact_hash);
      t.expect(hashes.join() === evidence.artifact_hash, 'it is listed', reply);
      const { bytes } = await t.http.fetch(records[0]!.artifact_uri);
      t.expect(sha256(bytes) === evidence.artifact_hash, 'its file has that hash', records[0]);
    },
  ],
  'evidence.unknown': [
    'a job that was not verified has no evidence',
    async (t) => {
      const reply = await t.http.get(`/evidence/conformance-${randomUUID()}`);
      t.expect(reply.status === 404, '404', reply);
    },
  ],
});
