/**
 * A model provider on 127.0.0.1 that holds runs in the states in which a test kills them. Until it
 * is released it stalls, reports overload, or reports a context overflow. Afterwards it answers.
 *
 * The user's last message contains `[NAME]`, and NAME determines the response. `[talk NAME]` is
 * answered at once. The response depends only on the request and on the release.
 */
import { startOpenAiServer } from '../../servers/openai-server.ts';
import type { Plan, PlannedCall, SeenRequest } from '../../servers/scripted-server.ts';

type Message = { readonly role: string; readonly content?: unknown };

export type HeldModel = {
  /** the base URL for `openai-completions` */
  readonly baseUrl: string;
  /** names whose requests were held or refused */
  readonly held: ReadonlySet<string>;
  /** From now on the model answers every request. */
  release(): void;
  close(): Promise<void>;
};

/** @param calls by name, the tool call that a run makes before it answers */
export async function startHeldModel(
  calls: Readonly<Record<string, Omit<PlannedCall, 'id'>>>,
): Promise<HeldModel> {
  const server = await startOpenAiServer();
  const held = new Set<string>();
  let isHolding = true;

  const hold = (name: string, plan: Plan): Plan => {
    held.add(name);
    return plan;
  };
  server.otherwise((request) => {
    const messages = request.body['messages'] as readonly Message[];
    const about = aboutOf(messages);
    const call = calls[about.name];
    const said: Plan = { kind: 'answer', deltas: ['done ', about.name] };
    if (about.isSummary) return isHolding ? hold(about.name, SILENCE) : said;
    if (call && !about.hasResult)
      return { kind: 'answer', calls: [{ id: `call_${idOf(request)}`, ...call }] };
    const plan = isHolding ? HELD[about.name] : undefined;
    return plan ? hold(about.name, plan) : said;
  });
  return {
    baseUrl: server.baseUrl,
    held,
    close: () => server.close(),
    release: () => void (isHolding = false),
  };
}

const SILENCE: Plan = { kind: 'stall', deltas: ['so '] };

const HELD: Readonly<Record<string, Plan>> = {
  thinking: SILENCE,
  // after the result of its tool call
  sent: SILENCE,
  'backing-off': { kind: 'refuse', status: 429, headers: { 'retry-after': '30' } },
  compacting: {
    kind: 'refuse',
    status: 400,
    type: 'invalid_request_error',
    message: "This model's maximum context length is exceeded",
  },
  // long enough for a second message to arrive
  collecting: { kind: 'answer', deltas: ['done ', 'collecting'], thinkMs: 6_000 },
};

/** A repeated call has the same id. */
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
