/** Runs an operation with parameters from outside. */
import type { TSchema } from '@sinclair/typebox';
import { checker, describeErrors } from '../protocols/check.ts';
import { defined } from '../protocols/defined.ts';
import { TroupeError } from '../protocols/errors.ts';
import type { Operation, OperationContext } from './operation.ts';

/** @throws TroupeError INVALID_ARGUMENT with `details.errors`; those of the operation */
export type CheckedRun = (context: OperationContext, params: unknown) => Promise<unknown>;

/** A function that checks the parameters against the schema of the operation and runs it. */
export function checkedRun({ params: schema, secret, run }: Operation): CheckedRun {
  const check = checker<TSchema>({ ...schema, additionalProperties: false }, defined({ secret }));
  return async (context, params) => {
    const checked = check(params);
    if (checked.ok) return run(context, checked.value as Parameters<typeof run>[1]);
    const { errors } = checked;
    throw new TroupeError(
      'INVALID_ARGUMENT',
      `the parameters are not valid: ${describeErrors(errors)}`,
      { details: { errors } },
    );
  };
}
