/**
 * Profile: which actions of the tested endpoint have the roles that the checks need. Ours are those
 * of the shipped `conformance` and `factory` agents; another implementation names its own.
 */
import { type Static, Type } from '@sinclair/typebox';
import { AnyKey } from '../protocols/any-key.ts';
import { checker, describeErrors } from '../protocols/check.ts';
import { TroupeError } from '../protocols/errors.ts';

const part = (description: string) => Type.Optional(Type.String({ description }));

export const ProfileSchema = Type.Object(
  {
    actions: Type.Object(
      {
        echo: part('{text}: ends at once, its result contains the payload'),
        count: part('ends at once, result {calls}: how often the work was done for this key'),
        slow: part('{seconds}: runs this long; can be cancelled and is then undone'),
        undone: part('{task_id}: result {undone}, whether that task of "slow" was undone'),
        failAlways: part('{code}: every attempt fails with this code'),
        failOnce: part('the first attempt fails, the second succeeds'),
        needInput: part('waits for input, then ends with {input}'),
        old: part('two MAJOR versions, the first deprecated'),
        secret: part('accepts only sealed payloads'),
        large: part('{text} or an artifact; result {bytes, hash}; max_payload_bytes small'),
        verify: part('{job_id}, which starts with `conformance-`: returns evidence'),
        endToEnd: part(
          '{document_id, content, notify: {to}}: a process that is verified step by step',
        ),
      },
      { additionalProperties: false },
    ),
    /** requested `action_version`, by action; default 1.0.0 */
    versions: Type.Record(AnyKey, Type.String()),
  },
  { additionalProperties: false },
);
export type Profile = Static<typeof ProfileSchema>;

export const SHIPPED_PROFILE: Profile = {
  actions: {
    echo: 'conformance.echo_payload',
    count: 'conformance.count_call',
    slow: 'conformance.run_slowly',
    undone: 'conformance.check_undone',
    failAlways: 'conformance.fail_always',
    failOnce: 'conformance.fail_once',
    needInput: 'conformance.need_input',
    old: 'conformance.old_action',
    secret: 'conformance.secret_text',
    large: 'conformance.large_payload',
    verify: 'conformance.verify_job',
    endToEnd: 'process.publish_document',
  },
  versions: { 'conformance.echo_payload': '1.2.0', 'conformance.old_action': '2.0.0' },
};

const check = checker(ProfileSchema);

/** @throws TroupeError INVALID_ARGUMENT that describes the fault */
export function readProfile(text: string): Profile {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new TroupeError('INVALID_ARGUMENT', 'the profile is not JSON', { cause });
  }
  const answer = check(value);
  if (answer.ok) return answer.value;
  throw new TroupeError('INVALID_ARGUMENT', `the profile: ${describeErrors(answer.errors)}`);
}
