/** Formats durations for users. */
export const durationText = (ms: number): string =>
  ms < 1_000 ? `${ms} ms` : ms < 60_000 ? `${(ms / 1_000).toFixed(1)} s` : minutes(ms);

const minutes = (ms: number): string =>
  `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`;
