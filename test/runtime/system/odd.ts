/** Values that are neither JSON nor bytes: no part of them may be stored. */
const circle = (): unknown => {
  const value: Record<string, unknown> = {};
  value['itself'] = value;
  return value;
};

const made: Record<string, () => unknown> = {
  circle,
  bigint: () => 5n,
  'huge bigint': () => 2n ** 80n,
  function: () => () => 1,
  symbol: () => Symbol('odd'),
  map: () => new Map([[{}, 1]]),
  date: () => new Date(Number.NaN),
  'not a number': () => Number.NaN,
};

export const ODD = Object.keys(made);

export const oddOf = (what: string): unknown => {
  const make = made[what];
  if (!make) throw new Error(`no odd value ${what}`);
  return { inside: make() };
};
