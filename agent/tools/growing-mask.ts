/** A mask of secrets of which more become known while a process runs: tokens of logins. */
import { createSecretMask, type SecretMask } from './secret-mask.ts';

/** Of added values, the oldest are forgotten: they have expired. */
const ADDED_MAX = 200;

export type GrowingMask = SecretMask & {
  /** Streams that are open already do not mask the values. */
  add(this: void, values: readonly (string | undefined)[]): void;
};

/** @param values are never forgotten */
export function growingMask(values: readonly string[]): GrowingMask {
  let added: readonly string[] = [];
  let mask = createSecretMask(values);
  return {
    text: (text) => mask.text(text),
    textStream: () => mask.textStream(),
    byteStream: () => mask.byteStream(),
    add(given) {
      const fresh = given.filter((value) => value !== undefined && !added.includes(value));
      if (fresh.length === 0) return;
      added = [...added, ...(fresh as string[])].slice(-ADDED_MAX);
      mask = createSecretMask([...values, ...added]);
    },
  };
}
