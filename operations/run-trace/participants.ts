/** The participants of a trace: sessions and their users, with ids in order of appearance. */
import { ANNOUNCE_SKIP, REPLY_SKIP } from '../../protocols/conversation.ts';
import { defined } from '../../protocols/defined.ts';
import type { TraceParticipant, TraceStep } from '../../protocols/run-trace.ts';
import type { SessionEntry } from '../../protocols/session.ts';
import type { TraceData } from './trace-data.ts';
import type { TraceReader } from './reader.ts';

export class TraceParticipants {
  readonly #reader: TraceReader;
  readonly #gathered: TraceData;
  readonly #parts = new Map<
    string,
    { -readonly [K in keyof TraceParticipant]: TraceParticipant[K] }
  >();
  #count = { people: 0, session: 0 };

  constructor(reader: TraceReader, gathered: TraceData) {
    this.#reader = reader;
    this.#gathered = gathered;
  }

  session(sessionKey: string): string {
    const known = this.#parts.get(sessionKey);
    if (known) return known.id;
    const id = `S${++this.#count.session}`;
    const label = this.#label(sessionKey);
    const name = shortName(sessionKey);
    const about = { id, kind: 'session', name, sessionKey, nodes: [] } as const;
    this.#parts.set(sessionKey, { ...about, ...defined({ label }) });
    return id;
  }

  /** The users of a session are one participant, with the first known name. */
  people(sessionKey: string, sender?: string): string {
    const key = `people of ${sessionKey}`;
    const known = this.#parts.get(key);
    if (known) return known.id;
    const id = `P${++this.#count.people}`;
    const name = sender ?? `people of ${shortName(sessionKey)}`;
    this.#parts.set(key, { id, kind: 'people', name, sessionKey, nodes: [] });
    return id;
  }

  /** A worker that made one of the session's model calls. */
  ranOn(sessionKey: string, node: string | undefined): void {
    this.session(sessionKey);
    const part = this.#parts.get(sessionKey)!;
    if (node !== undefined && !part.nodes.includes(node)) part.nodes = [...part.nodes, node];
  }

  /** The last answer of the session that is not silent. */
  lastSaid(sessionKey: string): string {
    const said = (this.#gathered.sessions.get(sessionKey) ?? []).findLast(
      (entry) => entry.type === 'assistant' && !entry.calls?.length && !isSilence(entry.text),
    );
    return said?.type === 'assistant' ? said.text : '';
  }

  /** The participants of the steps, in order of appearance. */
  of(steps: readonly TraceStep[]): readonly TraceParticipant[] {
    const byId = new Map([...this.#parts.values()].map((part) => [part.id, part]));
    const named = new Set(steps.flatMap(partsOf));
    return [...named].map((id) => byId.get(id)!);
  }

  #label(sessionKey: string): string | undefined {
    const rows = [...this.#gathered.subagents.values()];
    const row = rows.find((one) => one.sessionKey === sessionKey);
    return row?.label ?? this.#reader.session(sessionKey)?.label;
  }
}

export const partsOf = (step: TraceStep): readonly string[] => {
  if (step.kind === 'message' || step.kind === 'result') return [step.from, step.to];
  if (step.kind === 'end') return step.to === undefined ? [step.in] : [step.in, step.to];
  return [step.in];
};

/** Whether an answer is a silent reply. */
export const isSilence = (text: string): boolean =>
  ['', REPLY_SKIP, ANNOUNCE_SKIP].includes(text.trim());

/** Shortens `agent:work:main` to `work:main`, and a subagent's uuid to eight characters. */
const shortName = (sessionKey: string): string =>
  sessionKey.replace(/^agent:/, '').replace(/(:subagent:[0-9a-f]{8})-[0-9a-f-]+$/, '$1');

export type Announcement = { readonly to?: string; readonly announces?: true };

/**
 * The users of the session, for a user entry without origin and for a report in a session with
 * users.
 */
export const announcementOf = (
  cast: TraceParticipants,
  sessionKey: string,
  entry: SessionEntry & { type: 'user' },
) => {
  const people = () => ({ to: cast.people(sessionKey, entry.sender) });
  switch (entry.origin?.kind) {
    case undefined:
      return people();
    case 'agent':
      return { to: cast.session(entry.origin.sessionKey) };
    case 'announce':
      return { ...people(), announces: true } as const;
    case 'subagents':
      return sessionKey.includes(':subagent:') ? {} : people();
    case 'task':
      return {};
  }
};
