/** The section `retention`: how long data is kept, by kind. Tenants may have other ages. */
import { Type } from '@sinclair/typebox';
import { RETENTION_KINDS, type RetentionKind } from '../../../protocols/retention.ts';
import { applied, record, section } from './fields.ts';

const WHAT: Readonly<Record<RetentionKind, string>> = {
  transcripts:
    'sessions without a message for this time, with their transcripts, and conversations before a reset that is as old. Default: keep',
  audit: 'days of the audit. Default: keep',
  artifacts:
    'files that were neither stored nor signed again for this time. Default: `a2a.artifacts.keepDays`. Of a store (`s3`): by its lifecycle rules',
  deadLetters:
    'dead letters, also open ones; of a resolved one since it was resolved. Default: resolved ones 30 days, open ones are kept',
  history:
    'history of turns, if that is earlier than `runtime.history` removes it. Default: as there',
  memoryIndex:
    'stored vectors of an agent without a session that was active for this time; they can be made again. Default: keep',
};

const age = (description: string) =>
  Type.Optional(
    Type.String({
      pattern: '^(keep|[1-9][0-9]{0,4}[smhdwy])$',
      'x-allowed':
        'a number from 1 to 99999 with s, m, h, d, w or y (365 days), as "90d", or "keep"',
      description,
    }),
  );

const ages = Object.fromEntries(
  RETENTION_KINDS.map((kind) => [kind, age(WHAT[kind])]),
) as unknown as Readonly<Record<RetentionKind, ReturnType<typeof age>>>;

export const retentionSection = applied(
  'process',
  section('ages at which data is removed; `keep`: never', {
    ...ages,
    everyHours: Type.Number({
      minimum: 0.01,
      maximum: 8_760,
      default: 24,
      description: 'hours from the begin of one sweep to the begin of the next',
    }),
    itemsPerTurn: Type.Integer({
      minimum: 1,
      maximum: 1_000,
      default: 100,
      description: 'items (sessions, days, files, letters) that a sweep removes at once',
    }),
    itemsPerHour: Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      default: 10_000,
      description: 'items of one tenant that sweeps remove in an hour; the rest waits',
    }),
    bytesPerHour: Type.Integer({
      minimum: 2 ** 20,
      maximum: 2 ** 50,
      default: 10 * 2 ** 30,
      description: 'the same in bytes; the item that exceeds it is the last one of the hour',
    }),
  }),
);

/** Of a tenant: a kind that it leaves out has the age of the installation. */
export const tenantRetention = applied(
  'process',
  Type.Optional(
    record('ages for its data; a kind that is left out has the age of `retention`', ages),
  ),
);
