/** Checks that use HTTP, also when the envelopes travel over NATS. */
export const OVER_HTTP: readonly string[] = [
  'security.foreign-task',
  'security.opened',
  'large.by-reference',
  'large.signed-url',
  'large.lifetime',
  'large.wrong-hash',
  'large.upload-checked',
  'evidence.record',
  'evidence.unknown',
  'discovery.capabilities',
  'discovery.acp',
  'discovery.deprecated',
  'discovery.health',
  'e2e.evidence',
];
