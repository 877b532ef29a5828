/** One command that a node host offers: its parameters' schema, and what it does. */
import type { Static, TSchema } from '@sinclair/typebox';
import { checker, describeErrors } from '../../protocols/check.ts';
import { TroupeError } from '../../protocols/errors.ts';

export type CommandContext = {
  /** nobody waits for the answer any more */
  readonly signal: AbortSignal;
  /** what is left of its time, milliseconds */
  readonly timeoutMs: number;
  /** the invocation's id: the same for every telling of it */
  readonly id: string;
  /**
   * Asks people; resolves when one has said yes. @throws TroupeError FORBIDDEN when they said no,
   * or nothing
   */
  ask(question: { readonly command: string; readonly detail: string }): Promise<void>;
};

export type HostCommand = {
  readonly name: string;
  readonly description: string;
  readonly params: TSchema;
  /** @throws TroupeError what is told to the caller */
  run(params: unknown, context: CommandContext): Promise<unknown>;
};

export const defineCommand = <S extends TSchema>(command: {
  readonly name: string;
  readonly description: string;
  readonly params: S;
  run(params: Static<S>, context: CommandContext): Promise<unknown>;
}): HostCommand => {
  const check = checker(command.params);
  return {
    ...command,
    async run(params, context) {
      const checked = check(params);
      if (checked.ok) return command.run(checked.value, context);
      const wrong = describeErrors(checked.errors);
      throw new TroupeError('INVALID_ARGUMENT', `invalid parameters of ${command.name}: ${wrong}`);
    },
  };
};
