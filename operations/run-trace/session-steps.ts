/** The steps that the transcript of one session contains. */
import { defined } from '../../protocols/defined.ts';
import type { TraceStep } from '../../protocols/run-trace.ts';
import type { SessionEntry } from '../../protocols/session.ts';
import {
  type TraceParticipants,
  isSilence,
  announcementOf,
  type Announcement,
} from './participants.ts';
import { firstWords } from './first-words.ts';
import type { TraceData } from './trace-data.ts';
import type { Ordered } from './in-order.ts';

/** The state of a run that has not ended: its receiver and its last text. */
type Open = Announcement & { said: string };
type Of<Type extends SessionEntry['type']> = SessionEntry & { type: Type };

export function sessionSteps(
  gathered: TraceData,
  cast: TraceParticipants,
  sessionKey: string,
): readonly Ordered[] {
  const walk = new SessionWalk(gathered, cast, sessionKey);
  const steps: Ordered[] = [];
  for (const [at, entry] of gathered.sessions.get(sessionKey)!.entries()) {
    const from = gathered.runs.get(entry.runId);
    if (from === undefined || at < from) continue;
    const step = walk.step(entry);
    if (step) steps.push(step);
  }
  return steps;
}

class SessionWalk {
  readonly #gathered: TraceData;
  readonly #cast: TraceParticipants;
  readonly #key: string;
  readonly #open = new Map<string, Open>();
  /** conversations whose first message is a step already */
  readonly #begun = new Set<string>();

  constructor(gathered: TraceData, cast: TraceParticipants, sessionKey: string) {
    this.#gathered = gathered;
    this.#cast = cast;
    this.#key = sessionKey;
  }

  step(entry: SessionEntry): Ordered | undefined {
    switch (entry.type) {
      case 'user':
        return this.#user(entry);
      case 'assistant':
        return entry.of === undefined ? this.#model(entry) : undefined;
      case 'tool':
        return { step: this.#tool(entry) };
      case 'run.end':
        return { step: this.#end(entry), gives: `end:${entry.runId}` };
      default:
        return undefined;
    }
  }

  #user(entry: Of<'user'>): Ordered | undefined {
    const { runId, origin, at } = entry;
    const known = this.#open.get(runId);
    if (!known)
      this.#open.set(runId, { ...announcementOf(this.#cast, this.#key, entry), said: '' });
    const own = this.#cast.session(this.#key);
    const joins = entry.of === undefined ? {} : ({ joins: true } as const);
    const about = { at, runId: entry.of ?? runId };
    if (origin?.kind === 'subagents') {
      const step = { kind: 'report', ...about, in: own, results: origin.ids.length } as const;
      return { step: { ...step, ...joins }, needs: origin.ids.map((id) => `result:${id}`) };
    }
    const message = { kind: 'message', ...about, to: own, text: firstWords(entry.text) } as const;
    if (origin === undefined) {
      const from = this.#cast.people(this.#key, entry.sender);
      return { step: { ...message, ...joins, from, origin: 'person' } };
    }
    // Later turns repeat the preceding reply.
    if (origin.kind === 'announce' || !this.#isFirst(origin.ids[0])) return undefined;
    const from = this.#cast.session(origin.sessionKey);
    const step: TraceStep = { ...message, ...joins, from, origin: origin.kind };
    return { step: { ...step, ...this.#labelOf(origin.ids[0]) }, needs: this.#needsOf(origin.ids) };
  }

  #isFirst(id = ''): boolean {
    const conversation = this.#gathered.conversations.get(id);
    if (conversation && conversation.target !== this.#key) return false;
    const first = !this.#begun.has(id);
    this.#begun.add(id);
    return first;
  }

  #labelOf(id = ''): { readonly label?: string } {
    const label = this.#gathered.subagents.get(id)?.label;
    return label === undefined ? {} : { label };
  }

  #needsOf([id = '']: readonly string[]): readonly string[] {
    const { conversations, subagents } = this.#gathered;
    const by = conversations.get(id)?.requesterRunId ?? subagents.get(id)?.parentRunId;
    return by === undefined ? [] : [`call:${by}`];
  }

  #model(entry: Of<'assistant'>): Ordered {
    const { runId, at, model, node, usage, calls = [] } = entry;
    this.#cast.ranOn(this.#key, node);
    const open = this.#open.get(runId);
    if (open && calls.length === 0) open.said = entry.text;
    const step: TraceStep = {
      kind: 'model',
      at,
      runId,
      in: this.#cast.session(this.#key),
      model,
      calls: calls.map(({ name }) => name),
      ...(usage ? { tokens: usage.inputTokens + usage.outputTokens } : {}),
      ...defined({ node, costUsd: usage?.costUsd }),
    };
    const before = this.#turnBefore(runId);
    return {
      step,
      ...(calls.length > 0 ? { gives: `call:${runId}` } : {}),
      ...(before === undefined ? {} : { needs: [`end:${before}`] }),
    };
  }

  /** The run of the previous turn of the conversation. */
  #turnBefore(runId: string): string | undefined {
    for (const { turns } of this.#gathered.conversations.values()) {
      const at = turns.findIndex((turn) => turn.runId === runId);
      if (at > 0) return turns[at - 1]!.runId;
    }
    return undefined;
  }

  #tool({ at, runId, name, result, isError }: Of<'tool'>): TraceStep {
    const own = this.#cast.session(this.#key);
    const about = { at, runId, in: own } as const;
    const talks = name === 'sessions_send' || name === 'sessions_spawn';
    const { status, reason, delivered } = talks ? answerOf(result) : NO_ANSWER;
    const isRefused = !ENDS.has(status) && !(status === 'error' && delivered);
    if (talks && (REFUSALS.has(status) || (isError && isRefused))) {
      return { kind: 'refused', ...about, text: name, why: firstWords(reason || result) };
    }
    const tool = { kind: 'tool', ...about, name, text: firstWords(result) } as const;
    return { ...tool, failed: isError, ...(talks ? { drawn: true } : {}) };
  }

  #end({ at, runId, status, error }: Of<'run.end'>): TraceStep {
    const { said, ...rest } = this.#open.get(runId) ?? { said: '' };
    const own = this.#cast.session(this.#key);
    const silent = status === 'ok' && isSilence(said) ? ({ silent: true } as const) : {};
    const text = firstWords(status === 'ok' ? said : (error?.message ?? status));
    return { kind: 'end', at, runId, in: own, ...rest, text, status, ...silent };
  }
}

const REFUSALS: ReadonlySet<string> = new Set(['refused', 'forbidden', 'not_found', 'invalid']);
/** Final statuses of a subagent that was waited for: its end is a step of its own. */
const ENDS: ReadonlySet<string> = new Set(['completed', 'failed', 'timedOut', 'killed']);
type Answer = { readonly status: string; readonly reason: string; readonly delivered: boolean };
const NO_ANSWER: Answer = { status: '', reason: '', delivered: false };

/** Status and reason in the JSON answers of these tools. */
function answerOf(result: string): Answer {
  try {
    const { status, reason, rule, error, delivered } = JSON.parse(result) as Record<
      string,
      unknown
    >;
    const why = [reason, rule, error].filter((part) => typeof part === 'string');
    const known = typeof status === 'string' ? status : '';
    return { status: known, reason: why.join(': '), delivered: delivered === true };
  } catch {
    return NO_ANSWER;
  }
}
