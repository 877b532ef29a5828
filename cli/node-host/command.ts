/** One command that a node host offers: its parameter schema and its implementation. */
import type { Static, TSchema } from '@sinclair/typebox';
import { checker, describeErrors } from '../../protocols/check.ts';
import { TroupeError } from '../../protocols/errors.ts';

export type CommandContext = {
  /** aborted when no caller waits for the answer any more */
  readonly signal: AbortSignal;
  /** the remaining time, milliseconds */
  readonly timeoutMs: number;
  /** the invocation's id, the same for every delivery of the command */
  readonly id: string;
  /**
   * Requests an approval and resolves when it is granted. @throws TroupeError FORBIDDEN when it was
   * denied or expired
   */
  ask(question: { readonly command: string; readonly detail: string }): Promise<void>;
};

export type HostCommand = {
  readonly name: string;
  readonly description: string;
  readonly params: TSchema;
  /** @throws TroupeError which is sent to the caller */
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
