/** Errors, retries, versions, discovery. */
import { randomUUID } from 'node:crypto';
import { ERRORS } from '../../protocols/errors.ts';
import { type Check, checksOf } from '../check.ts';
import type { Trial } from '../trial.ts';

const ATTEMPTS = 7;

export const errorChecks: readonly Check[] = checksOf('errors', {
  'errors.unknown-action': [
    'an action that no agent offers is NOT_FOUND',
    async (t) => {
      await t.refused(t.envelope('conformance.no_such_action'), 'NOT_FOUND', 'an unknown action');
    },
  ],
  'errors.unknown-task': [
    'an unknown task is refused with NOT_FOUND',
    async (t) => {
      const envelope = t.envelope('task.get_status', { task_id: randomUUID() });
      await t.refused(envelope, 'NOT_FOUND', 'an unknown task');
    },
  ],
  'errors.retried': [
    'work that fails with a retriable error is retried, and the task succeeds',
    async (t) => {
      const view = await t.call(t.action('failOnce'));
      t.expect(
        view.state === 'SUCCEEDED' && view.attempt === 2,
        'the second attempt succeeds',
        view,
      );
    },
  ],
  'errors.given-up': [
    'after the first attempt and six retries the task is FAILED with the code of the error',
    async (t) => {
      const view = await t.call(t.action('failAlways'), { code: 'UNAVAILABLE' });
      t.expect(view.state === 'FAILED', 'it is FAILED', view);
      t.expect(view.attempt === ATTEMPTS, `after ${ATTEMPTS} attempts`, view);
      t.expect(view.error?.code === 'UNAVAILABLE', 'with the code of the work’s error', view);
    },
  ],
  'errors.not-retried': [
    'work that fails with a permanent error is not retried',
    async (t) => {
      const view = await t.call(t.action('failAlways'), { code: 'FORBIDDEN' });
      t.expect(
        view.state === 'FAILED' && view.attempt === 1,
        'it fails at the first attempt',
        view,
      );
    },
  ],
  'errors.taxonomy': [
    'a failed task has an error of the taxonomy and no stack trace',
    async (t) => {
      const view = await t.call(t.action('failAlways'), { code: 'CONFLICT' });
      t.expect(
        view.error !== undefined && view.error.code in ERRORS,
        'a code of the taxonomy',
        view,
      );
      t.expect(!JSON.stringify(view.error).includes('\\n    at '), 'no stack', view);
    },
  ],
  'errors.rate-headers': [
    'an answer states the quota: limit and remaining',
    async (t) => {
      const reply = await t.send(t.envelope(t.action('echo'), { text: 'x' }));
      for (const name of ['x-ratelimit-limit', 'x-ratelimit-remaining'])
        t.expect(/^\d+$/.test(reply.headers[name] ?? ''), `the header ${name}`, reply);
    },
  ],
});

export const versionChecks: readonly Check[] = checksOf('version negotiation', {
  'version.unsupported': [
    'a version that no agent serves is refused, and the error names the served ones',
    async (t) => {
      const envelope = t.envelope(t.action('echo'), { text: 'x' }, { action_version: '99.0.0' });
      const { error, reply } = await t.refused(envelope, 'INVALID_ARGUMENT', 'version 99.0.0');
      const supported = error.details?.['supported'];
      const named = Array.isArray(supported) && supported.length > 0;
      t.expect(named, 'details.supported names the versions', reply);
    },
  ],
  'version.older-minor': [
    'an older version of a supported MAJOR version is supported',
    async (t) => {
      const action = t.action('echo');
      const [major] = (t.profile.versions[action] ?? '1.0.0').split('.');
      const view = await t.call(action, { text: 'x' }, { action_version: `${major}.0.0` });
      t.expect(view.state === 'SUCCEEDED', 'it succeeds', view);
    },
  ],
  'version.majors': [
    'two MAJOR versions are supported at the same time',
    async (t) => {
      for (const action_version of ['1.0.0', '2.0.0']) {
        const view = await t.call(t.action('old'), {}, { action_version });
        t.expect(view.state === 'SUCCEEDED', `version ${action_version} is served`, view);
      }
    },
  ],
});

type Capabilities = {
  readonly envelope_versions?: unknown;
  readonly actions?: readonly Record<string, unknown>[];
};

async function capabilities(t: Trial, path: string): Promise<Capabilities> {
  const reply = await t.http.get(path);
  t.expect(reply.status === 200, `GET ${path}`, reply);
  return reply.body as Capabilities;
}

export const discoveryChecks: readonly Check[] = checksOf('discovery', {
  'discovery.capabilities': [
    '/mcp/capabilities lists envelope versions, and for each action version, size and transports',
    async (t) => {
      const { envelope_versions, actions = [] } = await capabilities(t, '/mcp/capabilities');
      const versions = Array.isArray(envelope_versions) && envelope_versions.includes('1.0');
      t.expect(versions, 'envelope_versions holds 1.0', { envelope_versions });
      const echo = actions.find(({ action }) => action === t.action('echo'));
      t.expect(echo !== undefined, `${t.action('echo')} is listed`);
      for (const field of ['action_version', 'max_payload_bytes', 'transports'])
        t.expect(echo?.[field] !== undefined, `its ${field}`, echo);
    },
  ],
  'discovery.acp': [
    '/acp/capabilities lists the same actions',
    async (t) => {
      const names = async (path: string) =>
        (await capabilities(t, path)).actions?.map(
          (one) => `${String(one['action'])} ${String(one['action_version'])}`,
        );
      const [mcp, acp] = [await names('/mcp/capabilities'), await names('/acp/capabilities')];
      t.expect(JSON.stringify(mcp) === JSON.stringify(acp), 'both documents agree', { mcp, acp });
    },
  ],
  'discovery.deprecated': [
    'a deprecated version is marked, with its end date',
    async (t) => {
      const { actions = [] } = await capabilities(t, '/mcp/capabilities');
      const old = actions.filter(({ action }) => action === t.action('old'));
      const marked = old.find((one) => one['deprecated'] === true);
      t.expect(typeof marked?.['sunset_at'] === 'string', 'deprecated and sunset_at', old);
    },
  ],
  'discovery.health': [
    '/healthz and /readyz answer without a token',
    async (t) => {
      for (const path of ['/healthz', '/readyz']) {
        const reply = await t.http.get(path, { token: null });
        t.expect(reply.status === 200, `GET ${path}`, reply);
      }
    },
  ],
});
