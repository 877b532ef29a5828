/** The events that a session can receive; account.ts checks the invariants on every path. */
import { batchOf } from '../../../actors/session/run/batch.ts';
import { COMPACTIONS_MAX } from '../../../actors/session/run/compaction.ts';
import { sessionMachine } from '../../../actors/session/machine.ts';
import { ATTEMPTS_MAX } from '../../../actors/session/run/run.ts';
import type { PlannedCall } from '../../../agent/policy/planned-call.ts';
import type {
  AssembleOutput,
  CallModelOutput,
  CompactOutput,
  ToolResult,
} from '../../../actors/session/types.ts';
import { address } from '../../../protocols/address.ts';
import type { AgentSettings } from '../../../protocols/agent.ts';
import { approvalAddress } from '../../../protocols/approval.ts';
import { defined } from '../../../protocols/defined.ts';
import { LEASE_REVOKED } from '../../../actors/session/effect-types.ts';
import type { ErrorData } from '../../../protocols/errors.ts';
import type { Message } from '../../../protocols/statechart.ts';
import type { Live } from '../../../runtime/statechart/host.ts';
import type { Exploration, Move } from '../../charts/coverage.ts';
import { Account, agent, asker, contextOf } from './account.ts';
import { bonds } from './bonds-walk.ts';
import { forking } from './fork-walk.ts';
import { importing } from './import-walk.ts';

const self = address('default', 'session', 'agent:main:main');
const CAP = 1;
const TURNS = 4;

const failure = (code: ErrorData['code'], more: Partial<ErrorData> = {}): ErrorData => ({
  code,
  message: 'the provider said so',
  ...more,
});

// ---- results of models and tools

const call = (id: string, more: Partial<PlannedCall> = {}): PlannedCall => ({
  id,
  name: 'look',
  args: { at: id },
  class: 'repeatable',
  parallel: true,
  confinement: { sandboxed: true, workspaceAccess: 'rw' },
  ...more,
});
const question = { command: 'rm -rf /', detail: 'on the host', pattern: 'rm *', forMs: 1_000 };
const usage = { inputTokens: 3, outputTokens: 2 };

const answer = (planned: readonly PlannedCall[], from?: number): CallModelOutput => ({
  text: planned.length > 0 ? '' : 'so it is',
  calls: planned.map(({ id, name, args }) => ({ id, name, args })),
  planned,
  stop: planned.length > 0 ? 'tools' : 'end',
  usage,
  model: 'offline/echo',
  ...defined({ from }),
});

const mixed = [
  call('b', { refused: 'The policy does not allow it.' }),
  call('c', { class: 'keyed' }),
  call('d', { class: 'once', parallel: false }),
  call('a'),
];

const shorter = (compacted: boolean): CompactOutput => ({
  compacted,
  summary: 'They said hello.',
  keptFrom: 7,
  tokensBefore: 900,
  tokensAfter: 90,
  usage,
});

/** A result of each call of the running batch. */
const resultsFor = (live: Live, more: Partial<ToolResult> = {}): ToolResult[] => {
  const context = contextOf(live);
  const batch = context.run ? batchOf(context) : [];
  return batch.map(({ id, name }) => ({
    callId: id,
    name,
    result: '12:00',
    isError: false,
    ...more,
  }));
};

const assembled: AssembleOutput = { digest: 'd1', replyHooks: false };
const assembledWithHooks: AssembleOutput = {
  digest: 'd2',
  prompt: { system: 'Be.', report: { sources: [], tokens: 1, tools: [], skills: [] } },
  prepend: 'Remember.',
  replyHooks: true,
  endHooks: true,
};

const tooLong = failure('INVALID_ARGUMENT', { details: { reason: 'context_length' } });
const first = (name: string, output: object, prompt = assembled): Move => ({
  name,
  job: 'model',
  output: { ...output, assembled: prompt },
});

/** The first model call of a run builds its prompt, also when it fails after that. */
const firstCalls: readonly Move[] = [
  first('answer', answer([])),
  first('answer, hooks', answer([]), assembledWithHooks),
  first('tools, please', answer([call('a'), call('b')])),
  first('the same, please', answer([call('s', { args: {} })], 3)),
  first('prompt, then try later', { failure: failure('UNAVAILABLE') }, assembledWithHooks),
  first('prompt, then too long', { failure: tooLong }),
  first('prompt, then never', { failure: failure('INVALID_ARGUMENT') }, assembledWithHooks),
  { name: 'no prompt yet', job: 'model', error: failure('UNAVAILABLE') },
  { name: 'no prompt', job: 'model', error: failure('INTERNAL') },
];

const revoked = failure('CONFLICT', { details: { reason: LEASE_REVOKED } });

const jobs = (live: Live): Move[] => [
  ...(contextOf(live).run?.standing === undefined
    ? []
    : ['model', 'prompt'].map((job) => ({ name: `${job}: revoked`, job, error: revoked }))),
  ...(contextOf(live).run?.isAssembled === false ? firstCalls : laterCalls),
  ...work(live),
];

const laterCalls: readonly Move[] = [
  { name: 'answer', job: 'model', output: answer([]) },
  { name: 'tools, please', job: 'model', output: answer([call('a'), call('b')]) },
  { name: 'the same, please', job: 'model', output: answer([call('s', { args: {} })], 3) },
  { name: 'all kinds, please', job: 'model', output: answer(mixed) },
  { name: 'may I', job: 'model', output: answer([call('q', { question }), call('z')]) },
  { name: 'try later', job: 'model', error: failure('UNAVAILABLE') },
  {
    name: 'try much later',
    job: 'model',
    error: failure('RATE_LIMIT_EXCEEDED', { retryAfterMs: 60_000 }),
  },
  { name: 'never', job: 'model', error: failure('INVALID_ARGUMENT') },
  { name: 'too long', job: 'model', error: tooLong },
];

const work = (live: Live): Move[] => [
  { name: 'prompt', job: 'prompt', output: assembled },
  { name: 'prompt with hooks', job: 'prompt', output: assembledWithHooks },
  { name: 'no prompt yet, apart', job: 'prompt', error: failure('UNAVAILABLE') },
  { name: 'no prompt, apart', job: 'prompt', error: failure('INTERNAL') },
  ...['tools', 'keyed', 'once'].flatMap((job): Move[] => [
    { name: `${job} ran`, job, output: resultsFor(live) },
    { name: `${job} failed`, job, error: failure('INTERNAL') },
  ]),
  {
    name: 'unknown error',
    job: 'once',
    output: resultsFor(live, { isError: true, unknown: true }),
  },
  ...['shortening', 'compaction'].flatMap((job): Move[] => [
    { name: `${job}: shorter`, job, output: shorter(true) },
    { name: `${job}: nothing to shorten`, job, output: shorter(false) },
    { name: `${job} later`, job, error: failure('UNAVAILABLE') },
    { name: `${job} failed`, job, error: failure('INTERNAL') },
  ]),
  { name: 'hooks saw it', job: 'reply', output: { text: 'so it is, friend' } },
  { name: 'hooks know its end', job: 'farewell', output: null },
  { name: 'no hook knows its end', job: 'farewell', error: failure('DEADLINE_EXCEEDED') },
  { name: 'a hook failed', job: 'reply', error: failure('FORBIDDEN') },
];

// ---- messages of users, the agent and approvals

const settings = (overflow: 'summarize' | 'old' | 'refuse'): AgentSettings => ({
  agentId: 'main',
  timeoutMs: 100_000,
  runsMax: 1,
  tokensPerDay: 0,
  limits: { turnsMax: TURNS, identicalCallsMax: 1 },
  queue: { cap: CAP, overflow, byChannel: { irc: 'collect' } },
});

const toSession = (name: string, event: Message, from = agent): Move => ({
  name,
  event,
  from,
  tell: true,
});

const decided = (live: Live, name: string, result: unknown, error?: ErrorData): Move => {
  const asked = contextOf(live).run?.asked ?? 'none';
  const event = { type: 'reply', to: 'm1', ...(error ? { error } : { result }) };
  return toSession(name, event, approvalAddress('default', asked));
};
const decision = (state: string, name?: string) => ({
  state,
  decided_at: '2026-01-01T00:00:00.000Z',
  ...(name ? { decision: name, decided_by: 'ada', why: 'because' } : {}),
});

const people = (live: Live): Move[] => {
  const { run, queue } = contextOf(live);
  const receive = (name: string, more: object): Move => ({
    name,
    event: { type: 'session.receive', runId: `r${live.seq}`, text: 'hello', ...more },
  });
  const abort = (name: string, runId?: string): Move => ({
    name,
    event: { type: 'session.abort', ...defined({ runId }) },
  });
  return [
    receive('steer', {}),
    receive('follow up', { queue: 'followup' }),
    receive('collect', { channel: 'irc', sender: 'Ada' }),
    receive('interrupt', { queue: 'interrupt' }),
    receive('terms without limits', { terms: {} }),
    receive('wishes', {
      model: 'offline/echo',
      thinking: 'high',
      extraSystemPrompt: 'Be brief.',
      timeoutMs: 700,
      images: [{ mimeType: 'image/png', data: 'AAAA' }],
      verbose: 'full',
      reasoning: true,
    }),
    abort('abort all'),
    abort('abort the run', run?.runId ?? 'none'),
    abort('abort who joined', run?.joined[0]?.runId ?? 'none'),
    abort('abort what waits', queue.at(-1)?.runId ?? 'none'),
    { name: 'reset', event: { type: 'session.reset', reason: 'enough' } },
    { name: 'expire', event: { type: 'session.expire', before: Number.MAX_SAFE_INTEGER } },
    { name: 'expire a used one', event: { type: 'session.expire', before: 0 } },
    { name: 'set', event: { type: 'session.set', model: 'offline/echo', queue: 'followup' } },
    { name: 'set back', event: { type: 'session.set', model: null, queue: null } },
    {
      name: 'note to the agent',
      event: { type: 'session.inject', text: 'The disk is full.', role: 'user' },
    },
    { name: 'note', event: { type: 'session.inject', text: 'Mind the gap.', label: 'ops' } },
    { name: 'compact', event: { type: 'session.compact', instructions: 'Keep names.' } },
  ];
};

/** Each sender receives a report of the end, whatever causes it. */
const agents = (live: Live): Move[] => {
  const origin = { kind: 'agent', sessionKey: 'agent:other:main', ids: ['asker'] };
  const lineage = { hops: 1, visited: ['agent:other:main'], left: 9 };
  const asks = (name: string, more: object): Move => ({
    name,
    from: asker,
    event: {
      type: 'session.receive',
      runId: `r${live.seq}`,
      text: 'hello',
      notify: true,
      origin,
      lineage,
      ...more,
    },
  });
  return [asks('an agent asks', { priority: 'high' }), asks('an agent steers', { queue: 'steer' })];
};

const others = (live: Live): Move[] => {
  const runId = contextOf(live).run?.runId ?? 'none';
  const lease = live.seq;
  const refused = (message: string) => ({
    type: 'refused',
    to: 'm1',
    message,
    error: failure('UNAVAILABLE'),
  });
  const admitted = (name: string, more: object): Move => {
    const given = { type: 'agent.admitted', runId, lease, settings: settings('summarize') };
    return toSession(name, { ...given, ...more });
  };
  return [
    admitted('admitted', {}),
    admitted('admitted, standing', { standing: 'l1' }),
    admitted('admitted, expires', {
      settings: { ...settings('summarize'), expiry: { idleMs: 1 } },
    }),
    admitted('admitted, old', { settings: settings('old') }),
    admitted('admitted, refuse', { settings: settings('refuse') }),
    admitted('admitted, spent', {
      settings: { ...settings('summarize'), limits: { tokensPerSession: 0 } },
    }),
    admitted('admitted too late', { runId: 'gone', settings: settings('refuse') }),
    toSession('refused by the agent', {
      type: 'agent.refused',
      runId,
      error: failure('FORBIDDEN'),
    }),
    toSession('refused too late', {
      type: 'agent.refused',
      runId: 'gone',
      error: failure('FORBIDDEN'),
    }),
    toSession('no agent', refused('agent.admit')),
    toSession('release is refused', refused('agent.release')),
    decided(live, 'allow once', decision('allowed', 'allow-once')),
    decided(live, 'allow always', decision('allowed', 'allow-always')),
    decided(live, 'deny', decision('denied', 'deny')),
    decided(live, 'expired', decision('expired')),
    decided(live, 'no operator can be asked', undefined, failure('UNAVAILABLE')),
    toSession('another answer', { type: 'reply', to: 'm1', result: decision('allowed') }),
  ];
};

const underALease = [
  ['model: revoked', 'admitted', 'answer'],
  ['no prompt yet', 'timer:retryBackoff', 'prompt: revoked', 'refused by the agent'],
  ['abort all', 'steer', 'answer'],
  ['interrupt', 'answer'],
  ['timer:runTimeout', 'hooks saw it'],
].map((script) => ['steer', 'admitted, standing', 'answer', 'steer', ...script]);

export const exploration: Exploration = {
  machine: sessionMachine,
  self,
  ledger: () => new Account(),
  moves: (live) =>
    live.snapshot.status === 'done'
      ? []
      : [
          ...people(live),
          ...agents(live),
          ...others(live),
          ...jobs(live),
          ...bonds(live),
          ...forking,
          ...importing,
        ],
  key: (live) => {
    const { run, queue, settings: known, children = [], reports = [] } = contextOf(live);
    const [head] = run?.planned ?? [];
    return [
      live.snapshot.value,
      queue.length >= CAP,
      queue[0]?.mode === 'collect',
      // related sessions are distinguished where they decide the next step
      run === null && [children.length > 0, reports.length > 0],
      live.snapshot.value === 'parting' && contextOf(live).closing !== undefined,
      known === null ? 'unknown' : known.queue?.overflow === 'refuse',
      run === null && known?.expiry !== undefined,
      run?.isAssembled && run.replyHooks,
      // counters of a run are distinguished where nothing else is active
      queue.length === 0 && run
        ? [
            run.attempt + 1 >= ATTEMPTS_MAX,
            run.calls + 1 >= TURNS,
            run.compactions >= COMPACTIONS_MAX,
            head && [head.class, head.name, head.refused, head.question],
            run.joined.length > 0,
          ]
        : null,
    ];
  },
  scripts: [
    ...underALease,
    ['steer', 'admitted', 'answer, hooks', 'hooks saw it', 'reset'],
    ['steer', 'admitted', 'answer, hooks', 'hooks saw it', 'close'],
    ['steer', 'admitted, expires', 'answer, hooks', 'hooks saw it', 'steer', 'hooks know its end'],
    [
      'steer',
      'admitted',
      ...Array.from({ length: TURNS - 1 }, () => ['tools, please', 'tools ran']).flat(),
    ],
    ['steer', 'admitted', 'the same, please', 'tools ran', 'the same, please'],
    [
      'steer',
      'admitted',
      'prompt, then try later',
      'timer:retryBackoff',
      ...Array.from({ length: ATTEMPTS_MAX - 2 }, () => ['try later', 'timer:retryBackoff']).flat(),
    ],
    [
      'steer',
      'admitted',
      'prompt, then too long',
      'shortening: shorter',
      ...Array.from({ length: COMPACTIONS_MAX - 1 }, () => [
        'too long',
        'shortening: shorter',
      ]).flat(),
    ],
  ],
};
