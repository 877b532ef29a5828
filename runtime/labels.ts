/** Labels: describe where a worker runs; effects and workspaces may require them. */
import { isSamePlace, LOCALITY_LABEL } from '../protocols/locality.ts';

/** For example `{ disk: 'fast', locality: 'asia-southeast1' }`; empty: nothing is required. */
export type Labels = Readonly<Record<string, string>>;

/** Whether a worker with these labels meets every requirement. */
export const meets = (has: Labels, required: Labels): boolean =>
  Object.entries(required).every(([name, value]) =>
    name === LOCALITY_LABEL ? isSamePlace(has[name], value) : has[name] === value,
  );

/** For messages: `disk=fast, locality=asia-southeast1`. */
export const labelsText = (labels: Labels): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(', ');
