/**
 * Runs that start one subagent, from the request until the subagent has completed its task and
 * reported. The message asks for it in the form that the offline model and the scripted model
 * (`troupe bench model`) follow exactly; a real model may not, which the first request shows.
 * Success: the run ended with `ok`, and its subagent completed.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { TroupeError } from '../../protocols/errors.ts';
import type { Target } from '../target.ts';
import { BenchSessions } from './bench-sessions.ts';
import { runOf } from './runs.ts';
import type { Workload } from './workload.ts';

export const SPAWN_MESSAGE = `call sessions_spawn ${JSON.stringify({ task: 'say done', label: 'bench' })}`;

/** Time between two looks at a subagent that has not ended, milliseconds. */
const LOOK_MS = 25;
const LOOK_MS_MAX = 400;

export const subagents: Workload = {
  summary: 'runs that start a subagent, until it has completed its task',
  usesModel: true,
  open(target, { testId, agent }) {
    const sessions = new BenchSessions(target, `bench-${testId}-subagents`, agent);
    return {
      async send({ signal }) {
        // A session may start a limited number of subagents, so each request has its own.
        const sessionKey = sessions.next();
        await runOf(target, { sessionKey, message: SPAWN_MESSAGE }, signal);
        await completed(target, sessionKey, signal);
      },
      close: () => sessions.remove(),
    };
  },
};

async function completed(target: Target, sessionKey: string, signal: AbortSignal): Promise<void> {
  for (let waitMs = LOOK_MS; ; waitMs = Math.min(LOOK_MS_MAX, waitMs * 2)) {
    const history = await target
      .client()
      .request('chat.history', { sessionKey, limit: 1 }, { signal, timeoutMs: 0 });
    const [subagent] = history.subagents ?? [];
    if (subagent === undefined)
      throw new TroupeError(
        'NOT_FOUND',
        'the agent started no subagent: this workload needs an agent (--agent) that may call sessions_spawn, also in sandboxed sessions, and the offline model or `troupe bench model`',
      );
    if (subagent.status === 'completed') return;
    if (subagent.endedAt !== undefined)
      throw new TroupeError(
        'UNAVAILABLE',
        `the subagent ended as ${subagent.status}: ${subagent.reason ?? 'no reason'}`,
      );
    await sleep(waitMs, undefined, { signal });
  }
}
