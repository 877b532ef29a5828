/**
 * `sessions.reset`, `sessions.compact`, `sessions.delete`, `sessions.patch`: change the state and
 * settings of a session.
 */
import {
  askSession as ask,
  type ChangingScope,
  compactSession,
  deleteSession,
  resetSession,
} from '../../../../operations/sessions/change-session.ts';
import type { SessionScope, TenantScope } from '../../tenant/tenant-scope.ts';
import type { SessionWatch } from '../../streams/session-watch.ts';
import { defined } from '../../../../protocols/defined.ts';
import { TroupeError } from '../../../../protocols/errors.ts';
import type {
  SessionsCompactParams,
  SessionsDeleteParams,
  SessionsPatchParams,
  SessionsResetParams,
} from '../../../../protocols/gateway/index.ts';
import type { SessionInject, SessionSet } from '../../../../protocols/session-settings.ts';
import {
  CHOICE_PATHS,
  checkModelChoice,
  type ModelRules,
} from '../../../../protocols/models/model-choice.ts';
import { modelNow } from '../../sessions/session-model.ts';
import { type MethodTable, published } from '../method.ts';
import { principalOf, type Request } from '../request.ts';
import { refuseStale, sessionNamed } from '../../../../operations/sessions/find-session.ts';
import { SESSIONS_PATH } from '../../../../operations/sessions/list-sessions.ts';

/** What changing the settings of a session needs. */
export type SessionSettingContext = SessionScope & {
  readonly models: ModelRules;
  readonly watch: Pick<SessionWatch, 'publishChange'>;
};

const sessionsReset = async (
  request: Request<SessionSettingContext>,
  params: SessionsResetParams,
) => ({ ok: true, ...(await resetSession(changing(request), params)) });

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
  return { ok: true, ...(await compactSession(changing(request), params)) };
};

/** The transcript is kept: `chat.history` still reads it by the session key. */
const sessionsDelete = async (
  request: Request<SessionSettingContext>,
  params: SessionsDeleteParams,
) => ({ ok: true, archived: [], ...(await deleteSession(changing(request), params)) });

const changing = (request: Request<SessionSettingContext>): ChangingScope => ({
  ...request.context,
  principal: principalOf(request),
});

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

const keyOf = ({ key, agentId }: { key: string; agentId?: string }) => ({
  sessionKey: key,
  ...defined({ agentId }),
});

export const askSession = <Result>(
  request: Request<TenantScope>,
  sessionKey: string,
  message: SessionSet | SessionInject,
): Promise<Result> =>
  ask({ ...request.context, principal: principalOf(request) }, sessionKey, message);

export const sessionSettingTable: MethodTable<SessionSettingContext> = [
  published('sessions.reset', sessionsReset),
  published('sessions.compact', sessionsCompact),
  published('sessions.patch', sessionsPatch),
  published('sessions.delete', sessionsDelete),
];
