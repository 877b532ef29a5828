/** Endpoints that break the rules about errors, versions, authentication and authorization. */
import { randomUUID } from 'node:crypto';
import { SHIPPED_PROFILE } from '../../../conformance/profile.ts';
import type { Asked, Fault } from './broken-server.ts';
import {
  answers,
  asBasic,
  bears,
  breakersOf,
  codeIn,
  ends,
  failed,
  incoming,
  type Own,
  recoded,
  refusals,
  refuse,
  say,
  signatureOf,
  withHeader,
} from './faults.ts';

const { actions, versions } = SHIPPED_PROFILE;

const isControl = (action: string): boolean =>
  action.startsWith('task.') || action.endsWith('.cancel');

export const errorBreakers = breakersOf({
  'errors.unknown-action': [
    'reports an unknown action as INVALID_ARGUMENT',
    () => recoded('NOT_FOUND', 'INVALID_ARGUMENT', ({ action }) => !isControl(action)),
  ],
  'errors.unknown-task': [
    'reports an unknown task as INVALID_ARGUMENT',
    () => recoded('NOT_FOUND', 'INVALID_ARGUMENT', ({ action }) => action === 'task.get_status'),
  ],
  'errors.retried': [
    'does not retry transient failures',
    () =>
      ends((view) =>
        view.action === actions.failOnce ? { ...failed(view), attempt: 1 } : undefined,
      ),
  ],
  'errors.given-up': [
    'gives up after four attempts',
    () => ends((view) => ({ ...view, attempt: Math.min(view.attempt, 4) })),
  ],
  'errors.not-retried': [
    'retries permanent failures',
    () => ends((view) => (view.error?.code === 'FORBIDDEN' ? { ...view, attempt: 7 } : undefined)),
  ],
  'errors.taxonomy': [
    'shows the stack trace of an error',
    () =>
      ends(({ error, ...view }) => {
        if (!error) return undefined;
        const message = `${error.message}\n    at perform (worker.js:12:34)`;
        return { ...view, error: { ...error, message } };
      }),
  ],
  'errors.rate-headers': [
    'omits the rate limit headers',
    () => async (asked, pass) => {
      const answer = await pass(asked);
      const { 'x-ratelimit-remaining': _, ...headers } = answer.headers;
      return { ...answer, headers };
    },
  ],
});

export const versionBreakers = breakersOf({
  'version.unsupported': [
    'uses the newest version instead of an unknown one',
    () =>
      incoming((envelope) =>
        envelope.action_version === '99.0.0'
          ? { ...envelope, action_version: versions[envelope.action] ?? '1.0.0' }
          : envelope,
      ),
  ],
  'version.older-minor': [
    'supports only the newest MINOR version',
    () => async (asked, pass) => {
      const { action, action_version } = asked.envelope ?? {};
      return action === actions.echo && action_version === '1.0.0'
        ? refuse('INVALID_ARGUMENT', { supported: ['1.2.0'] })
        : pass(asked);
    },
  ],
  'version.majors': [
    'fails in the older MAJOR version',
    () =>
      ends((view) =>
        view.action === actions.old && view.action_version.startsWith('1.')
          ? failed(view)
          : undefined,
      ),
  ],
});

/** Changes requests with the suite's own token. */
const ofCaller =
  (change: (own: Own) => Parameters<typeof incoming>[0]) =>
  (own: Own): Fault =>
    incoming((envelope, asked) =>
      bears(asked, own.token) && envelope.principal?.sub ? change(own)(envelope, asked) : envelope,
    );

type Head = { readonly alg?: string; readonly kid?: string };

const headOf = (asked: Asked): Head | undefined => {
  const [head] = signatureOf(asked)?.split('.') ?? [];
  return head ? (JSON.parse(Buffer.from(head, 'base64url').toString()) as Head) : undefined;
};
const isEdDsa = ({ alg }: Head): boolean => alg === 'EdDSA' || alg === 'Ed25519';

/** Accepts signatures without verification. */
const believing =
  (isBelieved: (head: Head, own: Own) => boolean) =>
  (own: Own): Fault =>
  (asked, pass) => {
    const head = headOf(asked);
    return pass(head && isBelieved(head, own) ? asBasic(asked, own) : asked);
  };

const signIn = (asked: Asked, token: string): Asked =>
  withHeader(asked, 'authorization', `Bearer ${token}`);

/** The view of a task that was just accepted. */
const accepted = ({ envelope }: Asked): object => ({
  task_id: randomUUID(),
  action: envelope?.action,
  state: 'ACKED',
});

export const callerBreakers = breakersOf({
  'security.no-token': [
    'accepts requests without a token',
    ({ token }) =>
      (asked, pass) =>
        pass(asked.envelope && !asked.headers['authorization'] ? signIn(asked, token) : asked),
  ],
  'security.bad-token': [
    'accepts tokens with the algorithm none',
    ({ token }) => {
      const none = Buffer.from('{"alg":"none"').toString('base64url').slice(0, -1);
      return (asked, pass) =>
        pass(asked.headers['authorization']?.includes(none) ? signIn(asked, token) : asked);
    },
  ],
  'security.principal': [
    'replaces the principal’s name by the token’s',
    ofCaller(({ who }) => (envelope) => ({
      ...envelope,
      principal: { ...envelope.principal, sub: who.sub },
    })),
  ],
  'security.roles': [
    'drops roles that the token does not contain',
    ofCaller(({ who }) => (envelope) => ({
      ...envelope,
      principal: {
        ...envelope.principal,
        roles: envelope.principal.roles?.filter((role) => who.roles.includes(role)),
      },
    })),
  ],
  'security.tenant': [
    'replaces the envelope’s tenant by the token’s',
    ofCaller(
      ({ who }) =>
        (envelope) =>
          'tenant_id' in envelope ? { ...envelope, tenant_id: who.tenant } : envelope,
    ),
  ],
  'security.foreign-task': [
    'shows tasks to any caller with their id',
    ({ token, strangerToken }) =>
      (asked, pass) =>
        pass(bears(asked, strangerToken) ? signIn(asked, token) : asked),
  ],
  'security.sealed': [
    'shows in its error the payload that should have been sealed',
    () =>
      refusals((refusal, { envelope }) =>
        envelope && envelope.action === actions.secret
          ? { error: { ...refusal.error, details: { payload: envelope.payload } } }
          : refusal,
      ),
  ],
  'security.opened': [
    'does not check the receiver of a sealed payload',
    () => async (asked, pass) => {
      const answer = await pass(asked);
      const isSealed = asked.envelope?.payload && 'jwe' in asked.envelope.payload;
      return isSealed && codeIn(answer) === 'FORBIDDEN' ? say(202, accepted(asked)) : answer;
    },
  ],
});

export const signatureBreakers = breakersOf({
  'security.signed': [
    'verifies signatures over a fixed order of fields',
    () => async (asked, pass) =>
      signatureOf(asked) && Object.keys(asked.envelope ?? {})[0] !== 'version'
        ? refuse('UNAUTHORIZED')
        : pass(asked),
  ],
  'security.unsigned': [
    'accepts unsigned envelopes of external programs',
    (own) => (asked, pass) =>
      pass(
        asked.envelope && bears(asked, own.external.token) && !signatureOf(asked)
          ? asBasic(asked, own)
          : asked,
      ),
  ],
  'security.tampered': [
    'looks up the key of a signature but does not verify it',
    believing((head, { external }) => isEdDsa(head) && head.kid === external.kid),
  ],
  'security.algorithm': ['accepts an HMAC as a signature', believing(({ alg }) => alg === 'HS256')],
  'security.unknown-key': [
    'accepts signatures of unknown keys',
    believing(
      (head, { external }) => isEdDsa(head) && ![undefined, external.kid].includes(head.kid),
    ),
  ],
});

type Actions = { readonly actions: readonly Record<string, unknown>[] };

/** Changes the document at `path`. */
const documentAt = (path: string, change: (one: Actions) => Actions): Fault =>
  answers((body, asked) => (asked.path === path ? change(body as Actions) : undefined));

const without = (field: string) => (one: Actions) => ({
  ...one,
  actions: one.actions.map(({ [field]: _, ...others }) => others),
});

export const discoveryBreakers = breakersOf({
  'discovery.capabilities': [
    'omits the transports of its actions',
    () => documentAt('/mcp/capabilities', without('transports')),
  ],
  'discovery.acp': [
    'omits an action from its second document',
    () => documentAt('/acp/capabilities', (one) => ({ ...one, actions: one.actions.slice(1) })),
  ],
  'discovery.deprecated': [
    'omits the removal date of a version',
    () => documentAt('/mcp/capabilities', without('sunset_at')),
  ],
  'discovery.health': [
    'requires a token for its health check',
    () => async (asked, pass) =>
      /^\/(healthz|readyz)/.test(asked.path) && !asked.headers['authorization']
        ? refuse('UNAUTHORIZED')
        : pass(asked),
  ],
});

export const endToEndBreakers = breakersOf({
  'e2e.process': [
    'fails in processes with several steps',
    () => ends((view) => (view.action === actions.endToEnd ? failed(view) : undefined)),
  ],
  'e2e.evidence': [
    'lists empty evidence',
    () =>
      answers((body, { path }) => {
        if (!path.startsWith('/evidence/') || !('records' in body)) return undefined;
        const records = body.records as readonly object[];
        return { ...body, records: records.map((record) => ({ ...record, verified: false })) };
      }),
  ],
});
