/**
 * A model provider on 127.0.0.1 that keeps runs where a test wants to see them die: it is silent,
 * busy, or finds a conversation too long, until it is let go; then it answers.
 *
 * The last message of a person says `[NAME]`, and NAME what becomes of its call; `[talk NAME]` is
 * answered at once. Pure but for what it has seen.
 */
import { startOpenAiServer } from '../servers/openai-server.ts';
import type { Plan, PlannedCall, SeenRequest } from '../servers/scripted-server.ts';

type Message = { readonly role: string; readonly content?: unknown };

export type HeldModel = {
  /** as configured for `openai-completions` */
  readonly baseUrl: string;
  /** names whose call was kept or refused */
  readonly kept: ReadonlySet<string>;
  /** From now on every call is answered. */
  letGo(): void;
  close(): Promise<void>;
};

/** @param calls the tool call that a run of this name makes before it answers */
export async function startHeldModel(
  calls: Readonly<Record<string, Omit<PlannedCall, 'id'>>>,
): Promise<HeldModel> {
  const server = await startOpenAiServer();
  const kept = new Set<string>();
  let isHolding = true;

  const keep = (name: string, plan: Plan): Plan => {
    kept.add(name);
    return plan;
  };
  server.otherwise((request) => {
    const messages = request.body['messages'] as readonly Message[];
    const about = aboutOf(messages);
    const call = calls[about.name];
    const said: Plan = { kind: 'answer', deltas: ['done ', about.name] };
    if (about.isSummary) return isHolding ? keep(about.name, SILENCE) : said;
    if (call && !about.hasResult)
      return { kind: 'answer', calls: [{ id: `call_${idOf(request)}`, ...call }] };
    const held = isHolding ? HELD[about.name] : undefined;
    return held ? keep(about.name, held) : said;
  });
  return {
    baseUrl: server.baseUrl,
    kept,
    close: () => server.close(),
    letGo: () => void (isHolding = false),
  };
}

const SILENCE: Plan = { kind: 'stall', deltas: ['so '] };

const HELD: Readonly<Record<string, Plan>> = {
  thinking: SILENCE,
  // after its call has its result
  sent: SILENCE,
  'backing-off': { kind: 'refuse', status: 429, headers: { 'retry-after': '30' } },
  compacting: {
    kind: 'refuse',
    status: 400,
    type: 'invalid_request_error',
    message: "This model's maximum context length is exceeded",
  },
  // long enough for a second message to come meanwhile
  collecting: { kind: 'answer', deltas: ['done ', 'collecting'], thinkMs: 6_000 },
};

/** A call that is made again has the same id. */
const idOf = (request: SeenRequest): number => (request.body['messages'] as unknown[]).length;

const textOf = ({ content }: Message): string =>
  typeof content === 'string' ? content : (JSON.stringify(content) ?? '');

function aboutOf(messages: readonly Message[]) {
  const asked = messages.findLastIndex(({ role }) => role === 'user');
  const all = messages.map(textOf).join('\n');
  const isSummary = /You sum up conversations|You keep the notes/.test(all);
  const words = isSummary ? all : textOf(messages[asked]!);
  const [, talk, name = ''] = /\[(talk )?([a-z-]+)\]/.exec(words) ?? [];
  return {
    isSummary,
    name: isSummary || talk === undefined ? name : '',
    hasResult: messages.slice(asked + 1).some(({ role }) => role === 'tool'),
  };
}
