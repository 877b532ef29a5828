/** `sessions.reset`, `sessions.compact`, `sessions.patch`: what a session is asked to do or be. */
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
import { CHOICE_PATHS, checkModelChoice } from '../../../model-choice.ts';
import { ACCEPT_TIMEOUT_MS, COMPACT_TIMEOUT_MS } from '../../limits.ts';
import { modelNow } from '../../sessions/session-model.ts';
import { fullSessionKey } from '../../sessions/session-key.ts';
import { type MethodTable, published } from '../method.ts';
import { principalOf, type Request } from '../request.ts';
import { refuseStale, sessionNamed } from './session-row.ts';
import { SESSIONS_PATH } from './sessions.ts';

const sessionsReset = async (request: Request, params: SessionsResetParams) => {
  const key = existing(request, params);
  const { reason = 'reset' } = params;
  const entry = await ask<{ sessionId: string }>(request, key, { type: 'session.reset', reason });
  request.door.watch.changed(key, 'reset');
  return { ok: true, key, entry };
};

const sessionsCompact = async (request: Request, params: SessionsCompactParams) => {
  if (params.maxLines !== undefined) {
    throw new TroupeError(
      'INVALID_ARGUMENT',
      '/maxLines is of transcripts in files: leave it out, the model sums up',
    );
  }
  const key = existing(request, params);
  const { instructions } = params;
  const message: SessionCompact = {
    type: 'session.compact',
    ...defined({ instructions }),
  };
  const done = await ask<CompactionDone>(request, key, message, COMPACT_TIMEOUT_MS);
  const { compacted, tokensBefore, tokensAfter } = done;
  if (compacted) request.door.watch.changed(key, 'compact');
  return { ok: true, key, compacted, tokensBefore, tokensAfter };
};

const sessionsPatch = async (request: Request, params: SessionsPatchParams) => {
  const { sessionKey: key } = sessionNamed(request.door, keyOf(params));
  refuseStale(request.door, key, params.expectedSessionId);
  const { archived, pinned, category } = params;
  const { label, model, thinkingLevel, verboseLevel, reasoningLevel, queueMode } = params;
  const now = modelNow(request.door, key, model === null);
  checkModelChoice(request.door.models, { model, thinking: thinkingLevel }, now, {
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
  const entry = (await ask<object | undefined>(request, key, message)) ?? {};
  request.door.watch.changed(key, 'patch');
  return { ok: true, path: SESSIONS_PATH, key, entry };
};

export const keyOf = ({ key, agentId }: { key: string; agentId?: string }) => ({
  sessionKey: key,
  ...defined({ agentId }),
});

/** @throws TroupeError NOT_FOUND: a message would make the session */
const existing = ({ door }: Request, params: { key: string; agentId?: string }): string => {
  const { sessionKey } = fullSessionKey(door.names, keyOf(params));
  if (door.system.index.get<SessionRow>('sessions', door.tenant, sessionKey)) return sessionKey;
  throw new TroupeError('NOT_FOUND', `nobody has written to the session ${sessionKey} yet`);
};

export const ask = async <Result>(
  request: Request,
  sessionKey: string,
  message: SessionReset | SessionCompact | SessionSet | SessionInject | SessionClose,
  timeoutMs = ACCEPT_TIMEOUT_MS,
): Promise<Result> => {
  const { system, tenant } = request.door;
  const to = address(tenant, 'session', sessionKey);
  const answer = await system.ask(to, message, { principal: principalOf(request), timeoutMs });
  if (answer.kind === 'refused') throw TroupeError.from(answer.error);
  if (answer.kind === 'timeout') {
    throw new TroupeError(
      'DEADLINE_EXCEEDED',
      'the session has the request, but has not answered yet: it will still do it',
    );
  }
  return answer.result as Result;
};

export const sessionSettingTable: MethodTable = [
  published('sessions.reset', sessionsReset),
  published('sessions.compact', sessionsCompact),
  published('sessions.patch', sessionsPatch),
];
