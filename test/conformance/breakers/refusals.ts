/** Endpoints that break the rules of errors, of versions and of who may come. */
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
    'calls an unknown action INVALID_ARGUMENT',
    () => recoded('NOT_FOUND', 'INVALID_ARGUMENT', ({ action }) => !isControl(action)),
  ],
  'errors.unknown-task': [
    'calls an unknown task INVALID_ARGUMENT',
    () => recoded('NOT_FOUND', 'INVALID_ARGUMENT', ({ action }) => action === 'task.get_status'),
  ],
  'errors.retried': [
    'gives up what may pass after the first attempt',
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
    'tries again what was refused permanently',
    () => ends((view) => (view.error?.code === 'FORBIDDEN' ? { ...view, attempt: 7 } : undefined)),
  ],
  'errors.taxonomy': [
    'shows the stack of an error of its work',
    () =>
      ends(({ error, ...view }) => {
        if (!error) return undefined;
        const message = `${error.message}\n    at perform (worker.js:12:34)`;
        return { ...view, error: { ...error, message } };
      }),
  ],
  'errors.rate-headers': [
    'does not say how much may still come',
    () => async (asked, pass) => {
      const answer = await pass(asked);
      const { 'x-ratelimit-remaining': _, ...headers } = answer.headers;
      return { ...answer, headers };
    },
  ],
});

export const versionBreakers = breakersOf({
  'version.unsupported': [
    'serves the newest version where an unknown one is asked for',
    () =>
      incoming((envelope) =>
        envelope.action_version === '99.0.0'
          ? { ...envelope, action_version: versions[envelope.action] ?? '1.0.0' }
          : envelope,
      ),
  ],
  'version.older-minor': [
    'serves the newest MINOR version only',
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

/** Changes what comes in under the suite's own token. */
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

/** Believes a signature without a look at it. */
const believing =
  (isBelieved: (head: Head, own: Own) => boolean) =>
  (own: Own): Fault =>
  (asked, pass) => {
    const head = headOf(asked);
    return pass(head && isBelieved(head, own) ? asBasic(asked, own) : asked);
  };

const signIn = (asked: Asked, token: string): Asked =>
  withHeader(asked, 'authorization', `Bearer ${token}`);

/** What a task looks like that was just accepted. */
const accepted = ({ envelope }: Asked): object => ({
  task_id: randomUUID(),
  action: envelope?.action,
  state: 'ACKED',
});

export const callerBreakers = breakersOf({
  'security.no-token': [
    'takes whoever has no token for somebody it knows',
    ({ token }) =>
      (asked, pass) =>
        pass(asked.envelope && !asked.headers['authorization'] ? signIn(asked, token) : asked),
  ],
  'security.bad-token': [
    'believes a token of the algorithm none',
    ({ token }) => {
      const none = Buffer.from('{"alg":"none"').toString('base64url').slice(0, -1);
      return (asked, pass) =>
        pass(asked.headers['authorization']?.includes(none) ? signIn(asked, token) : asked);
    },
  ],
  'security.principal': [
    'puts the token’s name in the place of the principal’s',
    ofCaller(({ who }) => (envelope) => ({
      ...envelope,
      principal: { ...envelope.principal, sub: who.sub },
    })),
  ],
  'security.roles': [
    'drops roles that the token does not give',
    ofCaller(({ who }) => (envelope) => ({
      ...envelope,
      principal: {
        ...envelope.principal,
        roles: envelope.principal.roles?.filter((role) => who.roles.includes(role)),
      },
    })),
  ],
  'security.tenant': [
    'puts the token’s tenant in the place of the envelope’s',
    ofCaller(
      ({ who }) =>
        (envelope) =>
          'tenant_id' in envelope ? { ...envelope, tenant_id: who.tenant } : envelope,
    ),
  ],
  'security.foreign-task': [
    'shows tasks to whoever knows their id',
    ({ token, strangerToken }) =>
      (asked, pass) =>
        pass(bears(asked, strangerToken) ? signIn(asked, token) : asked),
  ],
  'security.sealed': [
    'shows in its error what should have been sealed',
    () =>
      refusals((refusal, { envelope }) =>
        envelope && envelope.action === actions.secret
          ? { error: { ...refusal.error, details: { payload: envelope.payload } } }
          : refusal,
      ),
  ],
  'security.opened': [
    'does not look for whom a payload was sealed',
    () => async (asked, pass) => {
      const answer = await pass(asked);
      const isSealed = asked.envelope?.payload && 'jwe' in asked.envelope.payload;
      return isSealed && codeIn(answer) === 'FORBIDDEN' ? say(202, accepted(asked)) : answer;
    },
  ],
});

export const signatureBreakers = breakersOf({
  'security.signed': [
    'verifies signatures in the order of fields that it knows',
    () => async (asked, pass) =>
      signatureOf(asked) && Object.keys(asked.envelope ?? {})[0] !== 'version'
        ? refuse('UNAUTHORIZED')
        : pass(asked),
  ],
  'security.unsigned': [
    'takes unsigned envelopes of programs outside',
    (own) => (asked, pass) =>
      pass(
        asked.envelope && bears(asked, own.external.token) && !signatureOf(asked)
          ? asBasic(asked, own)
          : asked,
      ),
  ],
  'security.tampered': [
    'looks for the key of a signature and not at the signature',
    believing((head, { external }) => isEdDsa(head) && head.kid === external.kid),
  ],
  'security.algorithm': ['takes an HMAC for a signature', believing(({ alg }) => alg === 'HS256')],
  'security.unknown-key': [
    'believes signatures of keys that it does not know',
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
    'does not say by which transports its actions are reached',
    () => documentAt('/mcp/capabilities', without('transports')),
  ],
  'discovery.acp': [
    'leaves an action out of its other document',
    () => documentAt('/acp/capabilities', (one) => ({ ...one, actions: one.actions.slice(1) })),
  ],
  'discovery.deprecated': [
    'does not say on which day a version goes',
    () => documentAt('/mcp/capabilities', without('sunset_at')),
  ],
  'discovery.health': [
    'asks for a token before it says how it is',
    () => async (asked, pass) =>
      /^\/(healthz|readyz)/.test(asked.path) && !asked.headers['authorization']
        ? refuse('UNAUTHORIZED')
        : pass(asked),
  ],
});

export const endToEndBreakers = breakersOf({
  'e2e.process': [
    'fails in processes of many steps',
    () => ends((view) => (view.action === actions.endToEnd ? failed(view) : undefined)),
  ],
  'e2e.evidence': [
    'lists evidence that says nothing',
    () =>
      answers((body, { path }) => {
        if (!path.startsWith('/evidence/') || !('records' in body)) return undefined;
        const records = body.records as readonly object[];
        return { ...body, records: records.map((record) => ({ ...record, verified: false })) };
      }),
  ],
});
