/** Labels: what a worker says of its place, and what an effect or a workspace requires of one. */

/** For example `{ disk: 'fast', locality: 'asia-southeast1' }`; empty: nothing is required. */
export type Labels = Readonly<Record<string, string>>;

/** The label that says where a worker is; compared without regard to case. */
export const LOCALITY_LABEL = 'locality';

/** Whether a worker with these labels meets every requirement. */
export const meets = (has: Labels, required: Labels): boolean =>
  Object.entries(required).every(([name, value]) =>
    name === LOCALITY_LABEL
      ? has[name]?.toLowerCase() === value.toLowerCase()
      : has[name] === value,
  );

/** For messages: `disk=fast, locality=asia-southeast1`. */
export const labelsText = (labels: Labels): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(', ');
