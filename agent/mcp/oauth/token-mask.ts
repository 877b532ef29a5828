/** A mask of secrets that become known while a process runs: tokens of logins. */
import { createSecretMask, type SecretMask } from '../../tools/secret-mask.ts';

/** Of older ones, the oldest are forgotten: they have expired. */
const VALUES_MAX = 200;

export type GrowingMask = {
  readonly mask: SecretMask;
  add(this: void, values: readonly (string | undefined)[]): void;
};

/** `mask.text` also replaces the added values; its streams are those of `base`. */
export function growingMask(base: SecretMask): GrowingMask {
  let values: readonly string[] = [];
  let added = createSecretMask([]);
  return {
    mask: { ...base, text: (text) => added.text(base.text(text)) },
    add(given) {
      const fresh = given.filter((value) => value !== undefined && !values.includes(value));
      if (fresh.length === 0) return;
      values = [...values, ...(fresh as string[])].slice(-VALUES_MAX);
      added = createSecretMask(values);
    },
  };
}
