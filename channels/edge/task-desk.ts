/** TaskDesk: what a door does with a task that is there: find it, cancel it, give it an input. */
import type { Address } from '../../protocols/address.ts';
import type { CheckError } from '../../protocols/check.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { Message } from '../../protocols/statechart.ts';
import { taskAddress, type TaskView } from '../../protocols/task.ts';
import type { SendOptions, System } from '../../runtime/index.ts';
import { ask } from './append.ts';
import { checkRoles, schemaFault } from './checks.ts';
import type { Caller } from './edge.ts';
import { OPERATOR } from './identity/tokens.ts';
import type { Offers } from './offers.ts';
import type { TaskWatch } from './watch.ts';

export type TaskDeskOptions = {
  readonly system: Pick<System, 'ask' | 'caughtUp'>;
  readonly offers: Offers;
  readonly watch: TaskWatch;
  /** errors of a value against a JSON Schema; left out: an input is not looked at */
  readonly fits?: (
    schema: Record<string, unknown>,
    value: unknown,
  ) => Promise<readonly CheckError[]>;
};

type Reader = Pick<Caller, 'tenant' | 'sub' | 'roles'>;

export class TaskDesk {
  readonly #o: TaskDeskOptions;

  constructor(options: TaskDeskOptions) {
    this.#o = options;
  }

  /**
   * A gateway of a cluster may see a row after a caller has heard of the task: before it says that
   * there is none it reads all that was accepted until now.
   * @throws TroupeError NOT_FOUND; UNAVAILABLE when nobody can say
   */
  async find(tenant: string, taskId: string): Promise<TaskView> {
    const { system, watch } = this.#o;
    const address = addressOf(tenant, taskId);
    const seen = watch.row(tenant, taskId);
    if (seen) return seen.view;
    await system.caughtUp(address);
    const row = watch.row(tenant, taskId);
    if (!row) throw noSuchTask(taskId);
    return row.view;
  }

  /**
   * A task for who asked for it, who may ask for its action, or an operator.
   * @throws as `find`; TroupeError FORBIDDEN to others
   */
  async read({ tenant, ...principal }: Reader, taskId: string): Promise<TaskView> {
    const view = await this.find(tenant, taskId);
    const mayRead = view.principal === principal.sub || principal.roles.includes(OPERATOR);
    if (!mayRead) this.#checkMay(view, { principal });
    return view;
  }

  /**
   * Answers when the task has ended, or after `waitMs` with the task as it is then; one that was
   * cancelled before is answered as it is.
   * @throws TroupeError FORBIDDEN; CONFLICT when it has ended otherwise
   */
  async cancel(
    view: TaskView,
    reason: string | undefined,
    send: SendOptions,
    waitMs: number,
  ): Promise<TaskView> {
    this.#checkMay(view, send);
    if (wasCancelled(view)) return view;
    const event = { type: 'task.cancel', ...(reason === undefined ? {} : { reason }) };
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
   * @throws TroupeError FORBIDDEN; INVALID_ARGUMENT when it is not what the task waits for;
   * CONFLICT when it waits for nothing
   */
  async input(
    view: TaskView,
    input: unknown,
    send: SendOptions,
    waitMs: number,
  ): Promise<TaskView> {
    this.#checkMay(view, send);
    const { schema } = this.#now(view).waiting ?? {};
    const errors = schema === undefined ? [] : ((await this.#o.fits?.(schema, input)) ?? []);
    if (errors.length > 0)
      throw schemaFault(
        'the input is not what the task waits for',
        errors.map((error) => ({ ...error, path: `/input${error.path}` })),
      );
    return this.#ask(view, { type: 'task.input', input }, send, waitMs);
  }

  async #ask(view: TaskView, event: Message, send: SendOptions, waitMs: number): Promise<TaskView> {
    const to = taskAddress(view.tenant_id, view.task_id);
    return (await ask(this.#o.system, to, event, send, waitMs)) ?? this.#now(view);
  }

  #now(view: TaskView): TaskView {
    return this.#o.watch.row(view.tenant_id, view.task_id)?.view ?? view;
  }

  /** Who may not ask for an action may not meddle with its tasks. */
  #checkMay(
    { tenant_id, action, action_version }: TaskView,
    { principal }: Pick<SendOptions, 'principal'>,
  ): void {
    const found = this.#o.offers.find(tenant_id, action, action_version);
    if ('offer' in found) checkRoles(action, found.offer.spec.roles, principal.roles);
  }
}

/** @throws TroupeError NOT_FOUND for a text that no task is called */
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
