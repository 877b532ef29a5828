/**
 * What runs go by: ceilings, the queue of a session, which tools there are. The same words for all
 * agents and for one of them; an agent's own key wins.
 *
 * Boundary: shape only. How the layers become an agent's settings is in
 * installation/root-settings.ts.
 */
import { Type } from '@sinclair/typebox';
import { QUEUE_CAP_MAX, QUEUE_DEFAULTS } from '../../../protocols/agent.ts';
import { applied, oneOf, record, section } from './fields.ts';

const queueModes = ['steer', 'followup', 'collect', 'interrupt'] as const;
const overflows = ['summarize', 'old', 'refuse'] as const;

const modeText =
  'how a message is handled that arrives during a run: it joins the run, waits for a run of its own, is collected with others for the next run, or ends the run';
const byChannelText = 'by channel (`webchat`, `terminal`, `telegram`, …), instead of `mode`';
const debounceText =
  'pause without a new message before the collected messages start a run, milliseconds';
const capText = 'messages that may wait in one session';
const overflowText =
  'beyond `cap`: summarize the oldest messages in a line of the next run, drop the oldest with a notice, or refuse the newest';

const byChannel = { 'x-allowed': 'a queue mode by name of a channel' };
const channelModes = () =>
  Type.Record(
    Type.String({ pattern: '^[a-z0-9][a-z0-9_-]{0,62}$' }),
    oneOf(queueModes, { description: 'its mode' }),
    { additionalProperties: false, description: byChannelText, ...byChannel },
  );
const DEBOUNCE = { minimum: 0, maximum: 60_000 } as const;
const CAP = { minimum: 1, maximum: QUEUE_CAP_MAX } as const;

const queueDefaults = section('messages that come while a run is going', {
  mode: oneOf(queueModes, { default: QUEUE_DEFAULTS.mode, description: modeText }),
  byChannel: { ...channelModes(), default: {} },
  debounceMs: Type.Integer({
    ...DEBOUNCE,
    default: QUEUE_DEFAULTS.debounceMs,
    description: debounceText,
  }),
  cap: Type.Integer({ ...CAP, default: QUEUE_DEFAULTS.cap, description: capText }),
  overflow: oneOf(overflows, { default: QUEUE_DEFAULTS.overflow, description: overflowText }),
});

export const messagesSection = section('messages to all agents', {
  queue: applied('agents', queueDefaults),
});

/** The same keys without defaults: what is left out comes from `otherwise`. */
export const queueOverride = (otherwise: string) =>
  record(`key by key instead of \`${otherwise}\``, {
    mode: Type.Optional(oneOf(queueModes, { description: modeText })),
    byChannel: Type.Optional(channelModes()),
    debounceMs: Type.Optional(Type.Integer({ ...DEBOUNCE, description: debounceText })),
    cap: Type.Optional(Type.Integer({ ...CAP, description: capText })),
    overflow: Type.Optional(oneOf(overflows, { description: overflowText })),
  });

const characters = (minimum: number, standard: number, description: string) =>
  Type.Integer({ minimum, maximum: 100_000, default: standard, description });

/** Answers in pieces that can be sent as messages of their own; keys as OpenClaw names them. */
export const blockStreaming = {
  blockStreamingDefault: applied(
    'restart',
    oneOf(['on', 'off'], {
      default: 'off',
      description: 'whether requests that do not say so in `blockStreaming` receive blocks',
    }),
  ),
  blockStreamingBreak: applied(
    'restart',
    oneOf(['text_end', 'message_end'], {
      default: 'text_end',
      description:
        'when blocks are sent: while the text is written and at its end, before tools run; or all when ' +
        'the model has ended its message',
    }),
  ),
  blockStreamingChunk: applied(
    'restart',
    section('where a block ends', {
      minChars: characters(1, 800, 'minimum number of characters of a block, except the last one'),
      maxChars: characters(1, 1_200, 'a block ends here at the latest'),
      breakPreference: oneOf(['paragraph', 'newline', 'sentence'], {
        default: 'paragraph',
        description: 'where a block of at least `minChars` ends',
      }),
    }),
  ),
  blockStreamingCoalesce: applied(
    'restart',
    section('how blocks are joined before they are sent', {
      minChars: characters(0, 1_500, 'blocks of this length are sent at once'),
      maxChars: characters(1, 4_000, 'maximum length of joined blocks'),
      idleMs: Type.Integer({
        minimum: 0,
        maximum: 60_000,
        default: 1_000,
        description: 'pause after which blocks are sent, milliseconds; 0: blocks are not joined',
      }),
    }),
  ),
};

const tokens = (description: string) =>
  Type.Optional(Type.Integer({ minimum: 1, description: `${description}. Default: no limit` }));
const money = (description: string) =>
  Type.Optional(
    Type.Number({
      exclusiveMinimum: 0,
      'x-allowed': 'a number above 0',
      description: `${description}, US dollars; calls of models without a price count nothing. Default: no limit`,
    }),
  );

export const limits = (description: string) =>
  record(description, {
    turnsMax: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 10_000,
        description: 'model calls of one run. Default 64',
      }),
    ),
    tokensPerRun: tokens('input and output tokens of one run'),
    costPerRunUsd: money('cost of one run'),
    tokensPerSession: tokens('input and output tokens of one session'),
    costPerSessionUsd: money('cost of one session'),
    identicalCallsMax: Type.Optional(
      Type.Integer({
        minimum: 2,
        maximum: 100,
        description:
          'identical tool calls in a row after which the model receives a warning; twice as many end the run. Default 4',
      }),
    ),
  });

/** Ceilings of a UTC day. */
export const ceilings = {
  tokensPerDay: Type.Integer({
    minimum: 0,
    default: 0,
    description:
      'input and output tokens per UTC day, after which no run starts and running ones end. 0: unlimited',
  }),
  costPerDayUsd: Type.Number({
    minimum: 0,
    default: 0,
    description:
      'cost per UTC day in US dollars, after which no run starts; models without a price count nothing. 0: unlimited',
  }),
};

export const budgetSection = applied(
  'agents',
  section('ceilings of all agents together', ceilings),
);

export const verbose = oneOf(['off', 'on', 'full'], {
  description: 'instead of `agents.defaults.verbose`',
});

const names = (description: string) => Type.Array(Type.String({ minLength: 1 }), { description });
const askModes = ['off', 'on-miss', 'always'] as const;
const askText =
  'whether a command on the host requires approval: never, when no pattern allows it, ' +
  'always. Sandboxed commands are never asked about';
const allowText = 'patterns of commands that run on the host without approval';
const askForText = 'time for a decision, minutes; afterwards the command is denied';
const ASK_FOR = { minimum: 1, maximum: 43_200 } as const;
const patterns = { maxItems: 500 } as const;
const pattern = Type.String({ minLength: 1, maxLength: 8_192 });

/** Of `tools.exec`: what agents go by that say nothing else. */
export const execPolicyDefaults = {
  ask: applied('agents', oneOf(askModes, { default: 'on-miss', description: askText })),
  allow: applied(
    'agents',
    Type.Array(pattern, { ...patterns, default: [], description: allowText }),
  ),
  askForMinutes: applied(
    'agents',
    Type.Integer({ ...ASK_FOR, default: 30, description: askForText }),
  ),
};

export const toolsOverride = (description: string) =>
  record(description, {
    allow: Type.Optional(
      names(
        'tools and `group:` names that it may call. Default, and if empty: all that `tools` allows',
      ),
    ),
    deny: Type.Optional(names('tools and groups that it must not call; overrides `allow`')),
    exec: Type.Optional(
      record('key by key instead of `tools.exec`', {
        ask: Type.Optional(oneOf(askModes, { description: askText })),
        allow: Type.Optional(Type.Array(pattern, { ...patterns, description: allowText })),
        askForMinutes: Type.Optional(Type.Integer({ ...ASK_FOR, description: askForText })),
      }),
    ),
  });
