/**
 * The operations of the Agent2Agent protocol on durable tasks, for one authenticated caller and one
 * agent: the twelve methods that the handlers of the SDK and `rest.ts` call.
 *
 * Boundary: every change passes the Edge, with its checks, roles and quotas. The task is durable
 * before a message is answered, and continues when the client disconnects or a gateway ends.
 *
 * Invariants: a repeated messageId of one caller and context finds the same task; a caller reaches
 * only tasks that the Edge lets it read; outward, a task ends once.
 */
import type {
  AgentCard,
  CancelTaskRequest,
  DeleteTaskPushNotificationConfigRequest,
  GetExtendedAgentCardRequest,
  GetTaskPushNotificationConfigRequest,
  GetTaskRequest,
  ListTaskPushNotificationConfigsRequest,
  ListTaskPushNotificationConfigsResponse,
  ListTasksRequest,
  ListTasksResponse,
  Message,
  SendMessageRequest,
  StreamResponse,
  SubscribeToTaskRequest,
  Task,
  TaskPushNotificationConfig,
} from '@a2a-js/sdk';
import {
  TaskNotCancelableError,
  TaskNotFoundError,
  UnsupportedOperationError,
} from '@a2a-js/sdk/errors';
import { masked } from '../../operations/masked.ts';
import { errorData, TroupeError } from '../../protocols/errors.ts';
import { isFinal, type TaskView } from '../../protocols/task.ts';
import { unsignedOf } from '../edge/checks.ts';
import type { Caller, Credentials, Edge, EdgeRequest, Until } from '../edge/edge.ts';
import { submitCall } from '../edge/submit-call.ts';
import type { ServedAgent } from './agents.ts';
import { assertHistoryLength, type Histories } from './history.ts';
import type { TaskLists } from './list-tasks.ts';
import { assertConfig, type PushConfigs } from './push-configs.ts';
import { callOf, checkedMessage, inputOf, ownContextOf } from './message.ts';
import {
  isOperators,
  snapshotOf,
  statusUpdate,
  taskOf,
  updatesOf,
  waitsForCaller,
} from './task-view.ts';

/** How long a blocking send waits; then it returns the task as it is. */
const WAIT_MS = 600_000;
/** The change of a push configuration, in refusals. */
const PUSH_CONFIG = 'the push configuration';

/** An authenticated client. */
export type A2aCaller = Caller & {
  /** with which its requests are made again, as to the Edge */
  readonly credentials: Credentials;
  readonly trace: Pick<EdgeRequest, 'traceparent' | 'tracestate'>;
  /** aborted when the client has closed the connection of this request */
  readonly disconnected: AbortSignal;
};

export type AgentTasksOptions = {
  readonly edge: Edge;
  readonly lists: TaskLists;
  readonly push: PushConfigs;
  readonly histories: Histories;
  /** replaces the secrets of the installation in a text, in all that a client reads of a task */
  readonly maskSecrets: (text: string) => string;
  readonly caller: A2aCaller;
  /** counts a list against the quota of reads. @throws TroupeError RATE_LIMIT_EXCEEDED */
  readonly countRead: () => Promise<unknown>;
  readonly agent: ServedAgent;
  readonly extendedCard: () => Promise<AgentCard>;
  /** number of the last event that the client has received, if it reconnects */
  readonly lastEventId?: number | undefined;
};

export class AgentTasks {
  readonly #o: AgentTasksOptions;
  /** number of the event that the stream yielded last; undefined: it has none */
  eventId: number | undefined;

  constructor(options: AgentTasksOptions) {
    this.#o = options;
  }

  async sendMessage(request: SendMessageRequest): Promise<Task> {
    const { historyLength, returnImmediately } = request.configuration ?? {};
    assertHistoryLength(historyLength);
    const until = untilCaller(this.#o.caller.disconnected, WAIT_MS);
    const isWaiting = returnImmediately !== true;
    const { view, isReadable } = await this.#accept(request, isWaiting ? until : undefined);
    if (!isReadable) return this.#shown(view, 0);
    return this.#shown(isWaiting ? await this.#settled(view, until) : view, historyLength);
  }

  async *sendMessageStream(
    request: SendMessageRequest,
  ): AsyncGenerator<StreamResponse, void, undefined> {
    const { historyLength } = request.configuration ?? {};
    assertHistoryLength(historyLength);
    const { view, isReadable } = await this.#accept(request);
    if (isReadable) yield* this.#follow(view, historyLength);
    else yield this.#numbered(undefined, snapshotOf(view));
  }

  async getTask({ tenant, id, historyLength }: GetTaskRequest): Promise<Task> {
    assertHistoryLength(historyLength);
    return this.#shown(await this.#task(tenant, id), historyLength);
  }

  async listTasks(request: ListTasksRequest): Promise<ListTasksResponse> {
    const { lists, caller, countRead, agent } = this.#o;
    this.#assertTenant(request.tenant);
    assertHistoryLength(request.historyLength);
    await countRead();
    const owner = { tenant: caller.tenant, principal: caller.sub, agentId: agent.id };
    const { views, ...page } = await lists.list(owner, request);
    const tasks = views.map((view) => {
      const task = this.#shown(view, request.historyLength ?? 0);
      return request.includeArtifacts === true ? task : { ...task, artifacts: [] };
    });
    return { ...page, tasks };
  }

  async cancelTask({ tenant, id }: CancelTaskRequest): Promise<Task> {
    const { edge, caller } = this.#o;
    const view = await this.#task(tenant, id);
    if (isFinal(view.state)) throw notCancelable(view);
    try {
      return this.#shown(
        await edge.cancel(id, caller.credentials, 'an A2A client cancelled the task'),
      );
    } catch (error) {
      throw errorData(error).code === 'CONFLICT' ? notCancelable(view) : error;
    }
  }

  async *resubscribe({
    tenant,
    id,
  }: SubscribeToTaskRequest): AsyncGenerator<StreamResponse, void, undefined> {
    const view = await this.#task(tenant, id);
    if (isFinal(view.state) && this.#o.lastEventId === undefined)
      throw new UnsupportedOperationError(`the task has ended: read it with GetTask`);
    yield* this.#follow(view);
  }

  getAuthenticatedExtendedAgentCard({ tenant }: GetExtendedAgentCardRequest): Promise<AgentCard> {
    this.#assertTenant(tenant);
    return this.#o.extendedCard();
  }

  async createConfig(config: TaskPushNotificationConfig): Promise<TaskPushNotificationConfig> {
    unsignedOf(this.#o.caller, PUSH_CONFIG);
    const view = await this.#task(config.tenant, config.taskId);
    return this.#o.push.create(this.#o.caller, view, config);
  }

  async getConfig({
    tenant,
    taskId,
    id,
  }: GetTaskPushNotificationConfigRequest): Promise<TaskPushNotificationConfig> {
    await this.#task(tenant, taskId);
    return this.#o.push.get(this.#o.caller, taskId, id);
  }

  async listConfigs({
    tenant,
    taskId,
  }: ListTaskPushNotificationConfigsRequest): Promise<ListTaskPushNotificationConfigsResponse> {
    await this.#task(tenant, taskId);
    return this.#o.push.list(this.#o.caller, { taskId });
  }

  async deleteConfig({
    tenant,
    taskId,
    id,
  }: DeleteTaskPushNotificationConfigRequest): Promise<void> {
    unsignedOf(this.#o.caller, PUSH_CONFIG);
    await this.#task(tenant, taskId);
    await this.#o.push.remove(this.#o.caller, taskId, id);
  }

  /**
   * The task that the message creates, finds again, or gives input to. A repeat of a request whose
   * key is shared may find a task that this caller may not read: it gets no history of it, and no
   * notifications.
   * @param until waits for it; default: returns it at once
   */
  async #accept(
    { tenant, message: given, configuration }: SendMessageRequest,
    until?: Until,
  ): Promise<{ readonly view: TaskView; readonly isReadable: boolean }> {
    this.#assertTenant(tenant);
    const message = checkedMessage(given);
    const push = configuration?.taskPushNotificationConfig;
    // Refused before the task exists.
    if (push) assertConfig(push);
    // The configuration is stored before the wait.
    const first = push ? undefined : until;
    const view = await (message.taskId === ''
      ? this.#begin(message, first)
      : this.#continue(message));
    const isReadable = await this.#mayRead(view);
    if (push && !isReadable) throw new TaskNotFoundError();
    // A repeat of the message replaces the same configuration.
    const id = push?.id === '' ? message.messageId.slice(0, 128) : push?.id;
    if (push) await this.#o.push.create(this.#o.caller, view, { ...push, id: id ?? '' });
    return { view, isReadable };
  }

  /** @throws TroupeError RATE_LIMIT_EXCEEDED, UNAVAILABLE: it is not known */
  async #mayRead({ principal, task_id }: TaskView): Promise<boolean> {
    if (principal === this.#o.caller.sub) return true;
    try {
      await this.#o.edge.task(task_id, this.#o.caller.credentials);
      return true;
    } catch (error) {
      if (['NOT_FOUND', 'FORBIDDEN'].includes(errorData(error).code)) return false;
      throw error;
    }
  }

  async #begin(message: Message, until: Until | undefined): Promise<TaskView> {
    const { edge, agent, caller } = this.#o;
    const isOwnContext = message.contextId === '';
    const { spec, payload } = callOf(message, agent);
    const view = await submitCall(edge, {
      protocol: 'a2a',
      caller,
      credentials: caller.credentials,
      agentId: agent.id,
      key: message.messageId,
      contextId: isOwnContext ? ownContextOf(caller.sub, message) : message.contextId,
      isOwnContext,
      trace: caller.trace,
      until,
      envelope: (head) => ({
        ...head,
        version: '1.0',
        action: spec.action,
        action_version: spec.action_version,
        payload,
      }),
    });
    if (this.#isOfAgent(view)) return view;
    throw new TroupeError('CONFLICT', 'the messageId was used for a task of another agent');
  }

  /** Gives input, once per messageId. */
  async #continue(message: Message): Promise<TaskView> {
    const { edge, caller } = this.#o;
    const view = await this.#task('', message.taskId);
    if (message.contextId !== '' && message.contextId !== view.context_id)
      throw new TroupeError('INVALID_ARGUMENT', 'message.contextId is not that of the task');
    if (this.#o.histories.hasInput(view, message)) return view;
    const input = inputOf(message, view.waiting);
    try {
      return await submitCall(edge, {
        protocol: 'a2a',
        caller,
        credentials: caller.credentials,
        key: message.messageId,
        contextId: view.context_id ?? view.task_id,
        trace: caller.trace,
        envelope: (head) => ({
          ...head,
          version: '1.0',
          action: 'task.provide_input',
          action_version: '1.0.0',
          payload: { schema_version: '1.0', task_id: view.task_id, input },
        }),
      });
    } catch (error) {
      if (errorData(error).code !== 'CONFLICT') throw error;
      // A repeat of this message may have come first.
      if (this.#o.histories.hasInput(view, message)) return this.#task('', message.taskId);
      throw new UnsupportedOperationError(
        isFinal(view.state)
          ? 'the task has ended: send a message without taskId in the same context'
          : 'the task waits for no input: send a message without taskId, or wait',
      );
    }
  }

  #shown(view: TaskView, historyLength?: number): Task {
    const task = taskOf(view, this.#o.histories.of(view, historyLength));
    return masked(task, this.#o.maskSecrets);
  }

  /**
   * A task belongs to the agent at whose address it was created; one of another entry point to the
   * agents that offer its action.
   */
  #isOfAgent({ agent_id, action }: TaskView): boolean {
    const { agent } = this.#o;
    if (agent_id !== undefined) return agent_id === agent.id;
    return agent.chat?.action === action || agent.actions.some((spec) => spec.action === action);
  }

  /** @throws TaskNotFoundError, also for one of another agent, or that the caller may not read */
  async #task(tenant: string, id: string): Promise<TaskView> {
    this.#assertTenant(tenant);
    // The SDK does not check requests of 0.3.
    if (typeof id !== 'string' || id === '')
      throw new TroupeError('INVALID_ARGUMENT', 'the id of the task is required');
    let view: TaskView;
    try {
      view = await this.#o.edge.task(id, this.#o.caller.credentials);
    } catch (error) {
      if (errorData(error).code === 'NOT_FOUND') throw new TaskNotFoundError();
      throw error;
    }
    if (this.#isOfAgent(view)) return view;
    throw new TaskNotFoundError();
  }

  /** A request may name its tenant, which is that of the token. */
  #assertTenant(tenant: string): void {
    if (tenant !== '' && tenant !== this.#o.caller.tenant) throw new TaskNotFoundError();
  }

  /** The task when it has ended or waits for its caller. */
  #settled(view: TaskView, until: Until): Promise<TaskView> {
    const { edge, caller } = this.#o;
    if (isFinal(view.state) || waitsForCaller(view)) return Promise.resolve(view);
    return edge.settled(view.task_id, caller.credentials, until);
  }

  /**
   * The task, and what follows until it ends or waits for its caller. A client that reconnects also
   * gets the events that it missed, which the snapshot already contains. That a task has resumed
   * its work is no event of it, so its status follows the snapshot.
   */
  async *#follow(
    view: TaskView,
    historyLength?: number,
  ): AsyncGenerator<StreamResponse, void, undefined> {
    const { edge, caller, lastEventId } = this.#o;
    const after = Math.min(lastEventId ?? view.events.length, view.events.length);
    const history = this.#o.histories.of(view, historyLength);
    yield this.#numbered(after, snapshotOf(view, history));
    if (isFinal(view.state) && after === view.events.length) return;
    const isResumed = view.resumed_at !== undefined && !isFinal(view.state) && !view.waiting;
    if (isResumed) yield this.#numbered(undefined, statusUpdate(view));
    const halt = new AbortController();
    const signal = AbortSignal.any([halt.signal, caller.disconnected]);
    let waiting: TaskView | undefined;
    const settled = this.#settled(view, untilCaller(signal)).then(
      (now) => {
        if (!waitsForCaller(now)) return;
        waiting = now;
        halt.abort();
      },
      // The events report the same failure.
      () => {},
    );
    try {
      const events = edge.events(view.task_id, caller.credentials, { after, signal });
      for await (const event of events) {
        const updates = updatesOf(event);
        for (const update of updates)
          yield this.#numbered(update === updates.at(-1) ? event.n : undefined, update);
      }
    } finally {
      halt.abort();
      await settled;
    }
    if (waiting && !waitsForCaller(view)) yield this.#numbered(undefined, statusUpdate(waiting));
  }

  #numbered(id: number | undefined, response: StreamResponse): StreamResponse {
    this.eventId = id;
    return masked(response, this.#o.maskSecrets);
  }
}

/** A wait that ends when the task has ended or waits for its caller; default without a limit. */
const untilCaller = (signal: AbortSignal, limitMs?: number): Until => ({
  signal,
  ignores: isOperators,
  ...(limitMs === undefined ? {} : { limitMs }),
});

const notCancelable = ({ state }: TaskView): TaskNotCancelableError =>
  new TaskNotCancelableError(
    isFinal(state) ? `the task has ended as ${state}` : 'the task can no longer be cancelled',
  );
