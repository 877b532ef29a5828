/**
 * Parses commands in messages: the text after a `/`. Pure; all channels use it.
 *
 * Boundary: only messages of users are parsed, never the output of a model.
 *
 * Invariants: a text that is not a command goes to the model unchanged. A text that is almost a
 * command counts as a typing error: the user receives a hint, and nothing is executed.
 */
import type { QueueMode, Verbosity } from '../../protocols/session.ts';

const QUEUE_MODES = ['steer', 'followup', 'collect', 'interrupt'] as const;
const VERBOSITIES = ['off', 'on', 'full'] as const;
const THINKING_LEVELS = ['off', 'minimal', 'low', 'medium', 'high', 'xhigh'] as const;
const SWITCH = ['on', 'off'] as const;
/** Resets a setting of the session to that of the agent. */
const DEFAULT = 'default';

/** A setting's new value; null: that of the agent; undefined: only show it. */
type Setting<Value> = Value | null | undefined;

export type Command =
  | { readonly name: 'new' | 'reset' | 'stop' | 'status' | 'usage' | 'help' }
  | { readonly name: 'compact'; readonly instructions?: string }
  | { readonly name: 'queue'; readonly value: Setting<QueueMode> }
  | { readonly name: 'model'; readonly value: Setting<string> }
  | { readonly name: 'think'; readonly value: Setting<string> }
  | { readonly name: 'verbose'; readonly value: Setting<Verbosity> }
  | { readonly name: 'reasoning'; readonly value: Setting<boolean> };

export type CommandName = Command['name'];

export type ReadCommand =
  /** no command: a message for the model */
  | { readonly kind: 'text' }
  | { readonly kind: 'command'; readonly command: Command; readonly args: string }
  /** a failed attempt at a command: the text for the user */
  | { readonly kind: 'wrong'; readonly text: string };

type Entry = {
  readonly name: CommandName;
  /** as /help shows it after the name */
  readonly args: string;
  readonly does: string;
};

/** Every command, in the order of /help. */
export const COMMANDS: readonly Entry[] = [
  {
    name: 'new',
    args: '',
    does: 'start a new conversation; the old one is kept, but the model does not see it',
  },
  { name: 'reset', args: '', does: 'the same as /new' },
  { name: 'stop', args: '', does: 'stop the running answer and drop waiting messages' },
  { name: 'compact', args: '[instructions]', does: 'replace older messages by a summary' },
  { name: 'status', args: '', does: 'the session, its model and its settings' },
  { name: 'usage', args: '', does: 'tokens and cost, of the session and its last run' },
  {
    name: 'queue',
    args: '[steer|followup|collect|interrupt]',
    does: 'how messages are handled while an answer runs',
  },
  { name: 'model', args: '[provider/name]', does: 'the model of this session' },
  { name: 'think', args: '[off|minimal|low|medium|high|…]', does: 'how long the model thinks' },
  { name: 'verbose', args: '[off|on|full]', does: 'how much of its tools an answer shows' },
  { name: 'reasoning', args: '[on|off]', does: 'whether an answer shows its reasoning' },
  { name: 'help', args: '', does: 'this list' },
];

const ALIASES: Readonly<Record<string, CommandName>> = {
  abort: 'stop',
  thinking: 'think',
  commands: 'help',
};
const NAMES = new Set<string>(COMMANDS.map(({ name }) => name));

/**
 * `/name` at the very beginning, then nothing or a space: a path such as /etc/hosts is not a
 * command.
 */
const SHAPE = /^\/([a-z]+)(?:\s+([\s\S]*))?$/i;

export const readCommand = (message: string): ReadCommand => {
  const shape = SHAPE.exec(message.trim());
  if (shape === null) return { kind: 'text' };
  const word = shape[1]!.toLowerCase();
  const args = (shape[2] ?? '').trim();
  const name = ALIASES[word] ?? (NAMES.has(word) ? (word as CommandName) : undefined);
  if (name === undefined) return unknownCommand(word);
  const command = commandOf(name, args);
  return typeof command === 'string'
    ? { kind: 'wrong', text: command }
    : { kind: 'command', command, args };
};

const unknownCommand = (word: string): ReadCommand => {
  const near = COMMANDS.map(({ name }) => name).find((name) => isTypo(word, name));
  if (near === undefined) return { kind: 'text' };
  return {
    kind: 'wrong',
    text: `There is no /${word}. Did you mean /${near}? Nothing was done; /help lists the commands.`,
  };
};

/** The command, or the fault of the text after its name. */
const commandOf = (name: CommandName, args: string): Command | string => {
  switch (name) {
    case 'compact':
      return args === '' ? { name } : { name, instructions: args };
    case 'model':
      return /\s/.test(args) ? wrongValue(name, args) : { name, value: settingOf(args) };
    case 'queue':
      return oneOf(QUEUE_MODES, args, (value) => ({ name, value })) ?? wrongValue(name, args);
    case 'think':
      return oneOf(THINKING_LEVELS, args, (value) => ({ name, value })) ?? wrongValue(name, args);
    case 'verbose':
      return oneOf(VERBOSITIES, args, (value) => ({ name, value })) ?? wrongValue(name, args);
    case 'reasoning': {
      const isOn = (value: Setting<string>) =>
        value === null || value === undefined ? value : value === 'on';
      const command = oneOf(SWITCH, args, (value) => ({ name, value: isOn(value) }));
      return command ?? wrongValue(name, args);
    }
    default:
      if (args === '') return { name };
      return `/${name} has no parameters. Nothing was done: send /${name} alone.`;
  }
};

const settingOf = (args: string): Setting<string> =>
  args === '' ? undefined : args.toLowerCase() === DEFAULT ? null : args;

const oneOf = <Value extends string>(
  values: readonly Value[],
  args: string,
  make: (value: Setting<Value>) => Command,
): Command | undefined => {
  const given = settingOf(args.toLowerCase());
  if (given === undefined || given === null) return make(given);
  const value = values.find((each) => each === given);
  return value === undefined ? undefined : make(value);
};

const wrongValue = (name: CommandName, args: string): string => {
  const entry = COMMANDS.find((each) => each.name === name)!;
  const given = args.length > 60 ? `${args.slice(0, 60)}…` : args;
  return `“${given}” is not a value of /${name}. Write /${name} ${entry.args}, or /${name} ${DEFAULT}.`;
};

/**
 * One wrong, missing, extra or transposed letter. Names of fewer than four letters must be exact.
 */
const isTypo = (word: string, name: string): boolean => {
  if (name.length < 4 || Math.abs(word.length - name.length) > 1) return false;
  return distance(word, name) === 1;
};

/** Optimal string alignment (Damerau 1964, without transposed parts that are edited again). */
const distance = (a: string, b: string): number => {
  const rows: number[][] = [[...Array(b.length + 1).keys()]];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      let least = Math.min(rows[i - 1]![j]! + 1, row[j - 1]! + 1, rows[i - 1]![j - 1]! + same);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        least = Math.min(least, rows[i - 2]![j - 2]! + 1);
      }
      row.push(least);
    }
    rows.push(row);
  }
  return rows[a.length]![b.length]!;
};

export const helpText = (): string => {
  const lines = COMMANDS.map(
    ({ name, args, does }) => `/${name}${args === '' ? '' : ` ${args}`}: ${does}`,
  );
  return `${lines.join('\n')}\n“${DEFAULT}” as the value resets a setting to that of the agent.`;
};
