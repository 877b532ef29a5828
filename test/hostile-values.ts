/** Values that no program expects, the same ones for each seed. */
import { randomOf } from './random.ts';

const TEXTS = [
  '',
  '..%2f..%2f',
  '%00',
  'a'.repeat(2_000),
  '\u{1f600}'.repeat(200),
  '-1',
  '1e309',
  'a:cancel',
  ':subscribe',
  '${jndi:ldap://x}',
  '<script>',
  "' or 1=1--",
];

export type HostileValues = {
  readonly random: () => number;
  readonly one: <T>(list: readonly T[]) => T;
  readonly text: () => string;
  readonly value: () => unknown;
};

/** @param names of methods and of fields, which occur where they do not belong */
export function hostileValues(
  seed: number,
  names: { readonly methods: readonly string[]; readonly fields: readonly string[] },
): HostileValues {
  const random = randomOf(seed);
  const one = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  const value = (depth = 0): unknown => {
    const kind = Math.floor(random() * (depth > 3 ? 5 : 8));
    if (kind < 3) return one(TEXTS);
    if (kind === 3) return one([null, true, false, 0, -1, 1e308, 0.5, 2 ** 53]);
    if (kind === 4) return one(names.methods);
    if (kind === 5) return Array.from({ length: 3 }, () => value(depth + 1));
    const fields = Array.from({ length: 4 }, () => [one(names.fields), value(depth + 1)] as const);
    return Object.fromEntries(fields);
  };
  return { random, one, text: () => one(TEXTS), value: () => value() };
}
