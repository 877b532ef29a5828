/** Lines of the log for people at a terminal, instead of JSON. */
import { styleText } from 'node:util';
import { plainText } from '../protocols/plain-text.ts';

type LogLine = {
  readonly level: number;
  /** epoch milliseconds */
  readonly time: number;
  readonly msg?: string;
  readonly err?: { readonly stack?: string };
} & Readonly<Record<string, unknown>>;

type Style = Parameters<typeof styleText>[0];

/** Levels of pino, from the highest. */
const LEVELS: readonly (readonly [number, name: string, Style])[] = [
  [60, 'FATAL', 'red'],
  [50, 'ERROR', 'red'],
  [40, 'WARN', 'yellow'],
  [30, 'INFO', 'green'],
  [20, 'DEBUG', 'gray'],
  [10, 'TRACE', 'gray'],
];

/** The same in every line of a process. */
const LEFT_OUT = new Set(['level', 'time', 'pid', 'hostname', 'msg', 'err']);

/**
 * A line of pino as `10:42:07 INFO  gateway: listening  port=18789`, in local time; the stack of an
 * error follows. Colours where `stream` has them. A text that is not such a line stays.
 */
export function readableLine(line: string, stream: NodeJS.WritableStream): string {
  const parsed = parse(line);
  if (parsed === undefined) return line;
  const { level, time, msg = '', err } = parsed;
  const [, name, style] = LEVELS.find(([from]) => level >= from) ?? LEVELS.at(-1)!;
  const paint = (how: Style, text: string) => styleText(how, text, { stream });
  const facts = Object.entries(parsed)
    .filter(([key]) => !LEFT_OUT.has(key))
    .map(([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
  const parts = [
    paint('gray', clockTime(time)),
    paint(style, name.padEnd(5)),
    plainText(msg),
    ...(facts.length > 0 ? [` ${paint('gray', plainText(facts.join(' ')))}`] : []),
  ];
  const stack = (err?.stack ?? '').split('\n').map((frame) => `  ${plainText(frame)}\n`);
  return `${parts.join(' ')}\n${err?.stack ? stack.join('') : ''}`;
}

function parse(line: string): LogLine | undefined {
  try {
    const value = JSON.parse(line) as Partial<LogLine>;
    return typeof value.level === 'number' && typeof value.time === 'number'
      ? (value as LogLine)
      : undefined;
  } catch {
    return undefined;
  }
}

function clockTime(at: number): string {
  const date = new Date(at);
  const parts = [date.getHours(), date.getMinutes(), date.getSeconds()];
  return parts.map((part) => String(part).padStart(2, '0')).join(':');
}
