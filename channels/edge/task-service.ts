/** Finds, cancels and gives input to existing tasks, for all entry points. */
import type { Address } from '../../protocols/address.ts';
import type { CheckError } from '../../protocols/check.ts';
import { assertScope } from '../../operations/access.ts';
import { defined } from '../../protocols/defined.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { Message } from '../../protocols/statechart.ts';
import { taskAddress, type TaskOwner, type TaskView, type Waiting } from '../../protocols/task.ts';
import { approvalOf, isRepeatedInput } from '../../protocols/task-input.ts';
import type { SendOptions, System } from '../../runtime/index.ts';
import { ask } from './append.ts';
import { schemaFault } from './checks.ts';
import type { Caller } from './edge.ts';
import { OPERATOR } from './identity/tokens.ts';
import type { Offers } from '../../protocols/offers.ts';
import type { TaskWatch } from './watch.ts';

export type TaskServiceOptions = {
  readonly system: Pick<System, 'ask' | 'caughtUp'>;
  readonly offers: Offers;
  readonly watch: TaskWatch;
  /** validates a value against a JSON Schema; omitted: inputs are not checked */
  readonly fits?: (
    schema: Record<string, unknown>,
    value: unknown,
  ) => Promise<readonly CheckError[]>;
};

type Reader = Pick<Caller, 'tenant' | 'sub' | 'roles' | 'scopes'>;

export class TaskService {
  readonly #o: TaskServiceOptions;

  constructor(options: TaskServiceOptions) {
    this.#o = options;
  }

  /**
   * The first of these tasks that exists and that the reader may reach; the same rule applies to
   * reading, events, cancellation and input.
   * @throws TroupeError NOT_FOUND; UNAVAILABLE when that cannot be determined; FORBIDDEN without a
   *   scope
   */
  async read(reader: Reader, ...taskIds: readonly [string, ...string[]]): Promise<TaskView> {
    assertScope(reader, 'readTasks');
    for (const taskId of taskIds) {
      const view = await this.#find(reader, taskId);
      if (view) return view;
    }
    throw noSuchTask(taskIds[0]);
  }

  /**
   * Resolves when the task has ended, or after `waitMs` with the current task. A task that was
   * cancelled before is returned unchanged.
   * @param view as `read` returned it for this principal
   * @throws TroupeError CONFLICT when the task has ended with another outcome
   */
  async cancel(
    view: TaskView,
    reason: string | undefined,
    send: SendOptions,
    waitMs: number,
  ): Promise<TaskView> {
    if (wasCancelled(view)) return view;
    const event = { type: 'task.cancel', ...defined({ reason }) };
    const options = { ...send, lane: 'control' as const, repeatable: true as const };
    try {
      return await this.#ask(view, event, options, waitMs);
    } catch (error) {
      const now = this.#now(view);
      if (wasCancelled(now)) return now;
      throw error;
    }
  }

  /**
   * @param view as `read` returned it for this principal
   * A repeated input changes nothing, also when the task has asked its next question.
   * @throws TroupeError INVALID_ARGUMENT when the input does not match the request; CONFLICT when
   *   the task waits for no input, or the key was used for another input
   */
  async input(
    view: TaskView,
    input: unknown,
    send: SendOptions,
    waitMs: number,
  ): Promise<TaskView> {
    const { view: now, answers } = this.#o.watch.row(view.tenant_id, view.task_id) ?? { view };
    if (isRepeatedInput(answers, send.key, [input])) return now;
    const checked = await this.#checked(now.waiting, input);
    const event = { type: 'task.input', input: checked, ...defined({ message_id: send.key }) };
    return this.#ask(view, event, send, waitMs);
  }

  /** The input as the work gets it: an approval without a schema is a boolean. */
  async #checked(waiting: Waiting | undefined, input: unknown): Promise<unknown> {
    const schema = waiting?.schema;
    if (schema === undefined) {
      if (waiting?.for !== 'approval') return input;
      const approval = approvalOf(input);
      if (approval !== undefined) return approval;
      const message = 'must be true, false, "yes", "no" or { "approved": true | false }';
      throw schemaFault('the input is no answer to an approval', [{ path: '/input', message }]);
    }
    const errors = (await this.#o.fits?.(schema, input)) ?? [];
    if (errors.length === 0) return input;
    throw schemaFault(
      'the input does not match the schema of the waiting task',
      errors.map((error) => ({ ...error, path: `/input${error.path}` })),
    );
  }

  async #ask(view: TaskView, event: Message, send: SendOptions, waitMs: number): Promise<TaskView> {
    const to = taskAddress(view.tenant_id, view.task_id);
    return (await ask(this.#o.system, to, event, send, waitMs)) ?? this.#now(view);
  }

  #now(view: TaskView): TaskView {
    return this.#o.watch.row(view.tenant_id, view.task_id)?.view ?? view;
  }

  /**
   * In a cluster, a caller may know a task before this gateway's replica has its row. Before it
   * reports NOT_FOUND, the gateway therefore catches up with all accepted messages. It does the
   * same for a task that the reader may not reach, so that timing and failures reveal nothing.
   * @throws TroupeError NOT_FOUND for a text that is not a task id; UNAVAILABLE
   */
  async #find(reader: Reader, taskId: string): Promise<TaskView | undefined> {
    const { system } = this.#o;
    const address = addressOf(reader.tenant, taskId);
    const seen = this.#reached(reader, taskId);
    if (seen) return seen;
    await system.caughtUp(address);
    return this.#reached(reader, taskId);
  }

  #reached(reader: Reader, taskId: string): TaskView | undefined {
    const { offers, watch } = this.#o;
    const view = watch.row(reader.tenant, taskId)?.view;
    return view && mayReach(offers, view, reader) ? view : undefined;
  }
}

/**
 * Whether the reader may reach a task of its own tenant, and its outcome:
 * | reader | reaches |
 * | --- | --- |
 * | the caller of the task | yes |
 * | an operator of the tenant | yes |
 * | a holder of one of the roles that the action names | yes |
 * | any other | no: as if the task did not exist |
 */
export const mayReach = (
  offers: Pick<Offers, 'find'>,
  { principal, action, action_version }: TaskOwner,
  { tenant, sub, roles }: Reader,
): boolean => {
  if (principal === sub || roles.includes(OPERATOR)) return true;
  const found = offers.find(tenant, action, action_version);
  return 'offer' in found && found.offer.spec.roles.some((role) => roles.includes(role));
};

/** @throws TroupeError NOT_FOUND for a text that is not a task id */
function addressOf(tenant: string, taskId: string): Address {
  try {
    return taskAddress(tenant, taskId);
  } catch {
    throw noSuchTask(taskId);
  }
}

export const noSuchTask = (taskId: string): TroupeError => {
  const task_id = taskId.slice(0, 128);
  return new TroupeError(
    'NOT_FOUND',
    `there is no task ${task_id}: ended ones are kept for 28 hours`,
    { details: { task_id } },
  );
};

const wasCancelled = ({ state, outcome }: TaskView): boolean =>
  state === 'CANCELLED' || (state === 'COMPENSATED' && outcome === 'CANCELLED');
