/**
 * `sessions.reset`, `sessions.compact`, `sessions.patch`: change the state and settings of a
 * session.
 */
import type { SessionScope, TenantScope } from '../../tenant/tenant-scope.ts';
import type { SessionWatch } from '../../streams/session-watch.ts';
import { address } from '../../../../protocols/address.ts';
import { defined } from '../../../../protocols/defined.ts';
import { TroupeError } from '../../../../protocols/errors.ts';
import type {
  SessionsCompactParams,
  SessionsPatchParams,
  SessionsResetParams,
} from '../../../../protocols/gateway/index.ts';
import type {
  CompactionDone,
  SessionClose,
  SessionCompact,
  SessionReset,
  SessionRow,
} from '../../../../protocols/session.ts';
import type { SessionInject, SessionSet } from '../../../../protocols/session-settings.ts';
import {
  CHOICE_PATHS,
  checkModelChoice,
  type ModelRules,
} from '../../../../protocols/models/model-choice.ts';
import { ACCEPT_TIMEOUT_MS, COMPACT_TIMEOUT_MS } from '../../limits.ts';
import { modelNow } from '../../sessions/session-model.ts';
import { fullSessionKey } from '../../sessions/session-key.ts';
import { type MethodTable, published } from '../method.ts';
import { principalOf, type Request } from '../request.ts';
import { refuseStale, sessionNamed } from './session-row.ts';
import { SESSIONS_PATH } from './sessions.ts';
import { askOrThrow } from '../../../../runtime/index.ts';

/** What changing the settings of a session needs. */
export type SessionSettingContext = SessionScope & {
  readonly models: ModelRules;
  readonly watch: Pick<SessionWatch, 'publishChange'>;
};

const sessionsReset = async (
  request: Request<SessionSettingContext>,
  params: SessionsResetParams,
) => {
  const key = existingKey(request, params);
  const { reason = 'reset' } = params;
  const entry = await askSession<{ sessionId: string }>(request, key, {
    type: 'session.reset',
    reason,
  });
  request.context.watch.publishChange(key, 'reset');
  return { ok: true, key, entry };
};

const sessionsCompact = async (
  request: Request<SessionSettingContext>,
  params: SessionsCompactParams,
) => {
  if (params.maxLines !== undefined) {
    throw new TroupeError(
      'INVALID_ARGUMENT',
      '/maxLines is not supported: omit it, the model summarizes the transcript',
    );
  }
  const key = existingKey(request, params);
  const { instructions } = params;
  const message: SessionCompact = {
    type: 'session.compact',
    ...defined({ instructions }),
  };
  const done = await askSession<CompactionDone>(request, key, message, COMPACT_TIMEOUT_MS);
  const { compacted, tokensBefore, tokensAfter } = done;
  if (compacted) request.context.watch.publishChange(key, 'compact');
  return { ok: true, key, compacted, tokensBefore, tokensAfter };
};

const sessionsPatch = async (
  request: Request<SessionSettingContext>,
  params: SessionsPatchParams,
) => {
  const { sessionKey: key } = sessionNamed(request.context, keyOf(params));
  refuseStale(request.context, key, params.expectedSessionId);
  const { archived, pinned, category } = params;
  const { label, model, thinkingLevel, verboseLevel, reasoningLevel, queueMode } = params;
  const now = modelNow(request.context, key, model === null);
  checkModelChoice(request.context.models, { model, thinking: thinkingLevel }, now, {
    ...CHOICE_PATHS,
    thinking: '/thinkingLevel',
  });
  const message: SessionSet = {
    type: 'session.set',
    ...defined({ label, model, thinking: thinkingLevel, verbose: verboseLevel }),
    ...(reasoningLevel === undefined
      ? {}
      : { reasoning: reasoningLevel === null ? null : reasoningLevel !== 'off' }),
    ...defined({ queue: queueMode, archived, pinned, category }),
  };
  const entry = (await askSession<object | undefined>(request, key, message)) ?? {};
  request.context.watch.publishChange(key, 'patch');
  return { ok: true, path: SESSIONS_PATH, key, entry };
};

export const keyOf = ({ key, agentId }: { key: string; agentId?: string }) => ({
  sessionKey: key,
  ...defined({ agentId }),
});

/** @throws TroupeError NOT_FOUND, because a message would create the session */
const existingKey = (
  { context }: Request<SessionSettingContext>,
  params: { key: string; agentId?: string },
): string => {
  const { sessionKey } = fullSessionKey(context.names, keyOf(params));
  if (context.system.index.get<SessionRow>('sessions', context.tenant, sessionKey))
    return sessionKey;
  throw new TroupeError('NOT_FOUND', `the session ${sessionKey} has no messages yet`);
};

export const askSession = async <Result>(
  request: Request<TenantScope>,
  sessionKey: string,
  message: SessionReset | SessionCompact | SessionSet | SessionInject | SessionClose,
  timeoutMs = ACCEPT_TIMEOUT_MS,
): Promise<Result> => {
  const { system, tenant } = request.context;
  const to = address(tenant, 'session', sessionKey);
  return askOrThrow<Result>(system, to, message, {
    principal: principalOf(request),
    timeoutMs,
    timedOut: 'the session stored the request, but has not answered yet: it will still execute it',
  });
};

export const sessionSettingTable: MethodTable<SessionSettingContext> = [
  published('sessions.reset', sessionsReset),
  published('sessions.compact', sessionsCompact),
  published('sessions.patch', sessionsPatch),
];
