/**
 * Inputs of waiting tasks: what an approval may be, and how a repeated input is recognized. Pure.
 */
import { hash } from 'node:crypto';
import { TroupeError } from './errors.ts';
import { isTooDeep } from './json-depth.ts';

/** An input that was accepted, in the row of its task. */
export type TaskAnswer = {
  /** idempotency key or `messageId` of what contained it */
  readonly message_id: string;
  /** `inputDigest` */
  readonly digest: string;
};

/** The JSON of a text; the text itself when it is not JSON, or is nested too deep. */
export function jsonOrText(text: string): unknown {
  if (isTooDeep(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The same for equal JSON values, whatever the order of their fields. */
export const inputDigest = (input: unknown): string =>
  hash('sha256', JSON.stringify(input, inOrder) ?? '', 'base64url');

const inOrder = (_: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
    : value;

/**
 * Of a boolean, `{ approved: boolean }`, or the texts yes and no; undefined: it is none of them.
 */
export function approvalOf(input: unknown): boolean | undefined {
  const value =
    typeof input === 'object' && input !== null && 'approved' in input ? input.approved : input;
  if (typeof value === 'boolean') return value;
  if (typeof input !== 'string') return undefined;
  const text = input.trim().toLowerCase();
  return text === 'yes' ? true : text === 'no' ? false : undefined;
}

/**
 * Whether the task has accepted this input before.
 * @param readings the values that the input may have been read as
 * @throws TroupeError CONFLICT when the key was used for another input of the task
 */
export function isRepeatedInput(
  answers: readonly TaskAnswer[] | undefined,
  key: string | undefined,
  readings: readonly unknown[],
): boolean {
  const earlier = answers?.find(({ message_id }) => message_id === key);
  if (!earlier) return false;
  const digests = readings.flatMap((one) => [inputDigest(one), inputDigest(approvalOf(one))]);
  if (digests.includes(earlier.digest)) return true;
  throw new TroupeError(
    'CONFLICT',
    'the idempotency key (messageId) was used with another input of this task: use a new one',
    { details: { idempotency_key: earlier.message_id } },
  );
}
