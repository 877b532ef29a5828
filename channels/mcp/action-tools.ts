/**
 * Registered actions as tools. A call becomes an envelope, with the answers that every other entry
 * point gives; its task is durable before the client gets any answer, and continues when a gateway
 * ends.
 *
 * - An action that ends within 2 s returns its result.
 * - A longer one returns a task to a client that declared the tasks extension with the call. Other
 *   clients wait, with progress notifications if they asked for them.
 * - A task that waits for its caller asks for input: `input_required`, or an elicitation of 2025.
 *   The request state is the id of the task. It needs no seal, because it grants nothing: the task
 *   is looked up with the rights of the caller.
 * - A call may be repeated with the same `_meta['troupe/idempotency-key']`: it is executed once. A
 *   client of 2026 without a key cancels the call when it disconnects, as the protocol has it.
 */
import { hash, randomUUID } from 'node:crypto';
import { inputRequired, type RequestMeta, SdkError, type Tool } from '@modelcontextprotocol/server';
import type { ActionSpec } from '../../protocols/action.ts';
import { CANCEL_CALL, IDEMPOTENCY_KEY } from '../../protocols/mcp.ts';
import { TroupeError } from '../../protocols/errors.ts';
import {
  actionOfFunction,
  callable,
  envelopeOfArguments,
  functionOf,
} from '../../protocols/models/function-call.ts';
import type { Offers } from '../../protocols/offers.ts';
import { isFinal, SYNC_ANSWER_MS, type TaskView } from '../../protocols/task.ts';
import { mayRequest } from '../edge/checks.ts';
import type { Edge, Until } from '../edge/edge.ts';
import { submitCall } from '../edge/submit-call.ts';
import type { CallContext, ClientFeatures, McpCaller, McpTool, ToolAnswer } from './catalog.ts';
import { failedCall } from './errors.ts';
import { elicitationOf, inputKeyOf, mcpTaskOf, resultOf, waitsForCaller } from './task-view.ts';
import { TASK_VIEW } from './task-app.ts';
import { giveInput, unlessOver } from './tasks.ts';

/** How long a call waits for its task: clients give up after 60 s unless they get progress. */
const WAIT_MS = 50_000;
const WAIT_WITH_PROGRESS_MS = 600_000;
const PROGRESS_MS = 10_000;

export type ActionToolOptions = {
  readonly edge: Edge;
  readonly offers: Pick<Offers, 'all' | 'find'>;
  /** the page of the view of tasks; undefined: tools have no views */
  readonly taskApp?: (() => Promise<string>) | undefined;
};

/** The tools of the actions that the caller may call. */
export const actionTools = (
  options: ActionToolOptions,
  caller: McpCaller,
): readonly McpTool<CallContext>[] =>
  callable(options.offers.all(caller.tenant))
    .filter(({ roles }) => mayRequest(roles, caller.roles))
    .map((spec) => toolOf(options, caller, spec));

/** One of them by its name. */
export function actionTool(
  options: ActionToolOptions,
  caller: McpCaller,
  name: string,
): McpTool<CallContext> | undefined {
  const { offers } = options;
  const has = (spec: ActionSpec): boolean =>
    definitionOf(spec).name === name && mayRequest(spec.roles, caller.roles);
  const spec = offerNamed(offers, caller.tenant, name);
  const found =
    spec && callable([spec]).some(has) ? spec : callable(offers.all(caller.tenant)).find(has);
  return found && toolOf(options, caller, found);
}

/** The best offer of an action. Names with a digest, and actions of the Edge, are not found. */
function offerNamed(
  offers: Pick<Offers, 'find'>,
  tenant: string,
  name: string,
): ActionSpec | undefined {
  const meant = actionOfFunction(name);
  if (!meant) return undefined;
  const found = offers.find(tenant, meant.action, `${meant.major}.0.0`);
  return 'offer' in found ? found.offer.spec : undefined;
}

const toolOf = (
  { edge, taskApp }: ActionToolOptions,
  caller: McpCaller,
  spec: ActionSpec,
): McpTool<CallContext> => ({
  definition: definitionOf(spec),
  view: taskApp ? TASK_VIEW : undefined,
  call: (args, context, client) =>
    new ActionCall({ edge, caller, spec, context, client }).answer(args),
});

/** Specs are kept by the registry, so their definitions are too. */
const definitions = new WeakMap<ActionSpec, Tool>();

function definitionOf(spec: ActionSpec): Tool {
  const known = definitions.get(spec);
  if (known) return known;
  const { name, description, parameters } = functionOf(spec).function;
  const { result_schema: result } = spec;
  const definition: Tool = {
    name,
    title: spec.action,
    description,
    inputSchema: parameters as Tool['inputSchema'],
    ...(result?.['type'] === 'object' ? { outputSchema: result } : {}),
    annotations: { idempotentHint: false },
  };
  definitions.set(spec, definition);
  return definition;
}

type CallParts = {
  readonly edge: Edge;
  readonly caller: McpCaller;
  readonly spec: ActionSpec;
  readonly context: CallContext;
  readonly client: ClientFeatures;
};

/** One call of an action: submits it, or continues it with an input, and waits for its end. */
class ActionCall {
  readonly #edge: Edge;
  readonly #caller: McpCaller;
  readonly #spec: ActionSpec;
  readonly #context: CallContext;
  readonly #client: ClientFeatures;
  readonly #key: string | undefined;
  #progress = 0;

  constructor({ edge, caller, spec, context, client }: CallParts) {
    this.#edge = edge;
    this.#caller = caller;
    this.#spec = spec;
    this.#context = context;
    this.#client = client;
    this.#key = keyOf(context.mcpReq._meta);
  }

  async answer(args: Readonly<Record<string, unknown>>): Promise<ToolAnswer> {
    const taskId = this.#context.mcpReq.requestState<string>();
    const early =
      taskId === undefined
        ? await this.#following(SYNC_ANSWER_MS, (until) => this.#submit(args, until))
        : await this.#follow(await this.#continue(taskId), SYNC_ANSWER_MS);
    if (this.#isCancellation()) {
      await this.#cancel(early.task_id);
      return stillRuns(early);
    }
    if (!isFinal(early.state) && this.#client.tasks && !this.#asks(early))
      return { ...mcpTaskOf(early), resultType: 'task' };
    const hasProgress = this.#context.mcpReq._meta?.progressToken !== undefined;
    const view = await this.#follow(early, hasProgress ? WAIT_WITH_PROGRESS_MS : WAIT_MS);
    if (isFinal(view.state)) return resultOf(view);
    if (!this.#asks(view)) return stillRuns(view);
    const { waiting } = view;
    return inputRequired({
      inputRequests: { [inputKeyOf(waiting!)]: elicitationOf(waiting!) },
      requestState: view.task_id,
    });
  }

  /** Whether the user of the client can be asked for what the task waits for. */
  #asks(view: TaskView): boolean {
    return this.#client.forms && waitsForCaller(view);
  }

  /** Whether the same call is to be cancelled, instead of made. */
  #isCancellation(): boolean {
    return this.#key !== undefined && this.#context.mcpReq._meta?.[CANCEL_CALL] === true;
  }

  /** Submits the call and waits for its task. @throws TroupeError the refusal */
  #submit(args: Readonly<Record<string, unknown>>, until: Until): Promise<TaskView> {
    const key = this.#key ?? randomUUID();
    return submitCall(this.#edge, {
      protocol: 'mcp',
      caller: this.#caller,
      credentials: this.#caller.credentials,
      key,
      isNewKey: this.#key === undefined ? true : undefined,
      // Calls are independent of each other: each is a subject of its own, unless it names one.
      contextId: contextOf(key),
      isOwnContext: true,
      trace: traceOf(this.#context.mcpReq._meta),
      until: this.#isCancellation() ? undefined : until,
      envelope: (head) => envelopeOfArguments(this.#spec, args, head),
    });
  }

  /** Gives the input of the client to its task. A task that waits no more continues as it is. */
  async #continue(taskId: string): Promise<TaskView> {
    const { credentials } = this.#caller;
    const view = await this.#edge.task(taskId, credentials);
    if (view.action !== this.#spec.action)
      throw new TroupeError('INVALID_ARGUMENT', `the request state is not of ${this.#spec.action}`);
    return giveInput(this.#edge, credentials, view, this.#context.mcpReq.inputResponses);
  }

  /** Waits until the task has ended, waits for its caller, or the time is over. */
  async #follow(view: TaskView, limitMs: number): Promise<TaskView> {
    const { task_id: taskId, state } = view;
    if (isFinal(state) || waitsForCaller(view)) return view;
    const { credentials } = this.#caller;
    return this.#following(
      limitMs,
      (until) => this.#edge.settled(taskId, credentials, until),
      state,
    );
  }

  /**
   * Sends progress during the wait, and cancels the task when the client has cancelled its call.
   */
  async #following(
    limitMs: number,
    wait: (until: Until) => Promise<TaskView>,
    known: TaskView['state'] = 'ACKED',
  ): Promise<TaskView> {
    const { signal, _meta: meta } = this.#context.mcpReq;
    let state = known;
    const alive =
      meta?.progressToken === undefined
        ? undefined
        : setInterval(() => this.#tell(state), PROGRESS_MS);
    if (alive) this.#tell(state);
    const onChange = (changed: TaskView) => this.#tell((state = changed.state));
    try {
      const view = await wait({ signal, limitMs, onChange });
      if (this.#isCancelled()) await this.#cancel(view.task_id);
      return view;
    } finally {
      clearInterval(alive);
    }
  }

  /**
   * Sends progress, if the client asked for it; it resets the time after which a client gives up.
   */
  #tell(message: string): void {
    const { mcpReq } = this.#context;
    const progressToken = mcpReq._meta?.progressToken;
    if (progressToken === undefined || mcpReq.signal.aborted) return;
    const params = { progressToken, progress: ++this.#progress, message };
    // The client may disconnect in the meantime, which the signal reports.
    void mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {});
  }

  /**
   * A client of 2025 cancels by a notification, one of 2026 by closing the connection; with a key,
   * it may be about to repeat the call. The end of this gateway, or of a session, cancels nothing.
   */
  #isCancelled(): boolean {
    const { signal, envelope } = this.#context.mcpReq;
    if (!signal.aborted) return false;
    if (envelope === undefined) return !(signal.reason instanceof SdkError);
    return this.#key === undefined && this.#caller.disconnected.aborted;
  }

  async #cancel(taskId: string): Promise<void> {
    const { credentials } = this.#caller;
    await unlessOver(this.#edge.cancel(taskId, credentials, 'the client cancelled its call'));
  }
}

const stillRuns = ({ task_id, state, waiting }: TaskView): ToolAnswer =>
  failedCall(
    {
      code: 'DEADLINE_EXCEEDED',
      message: waiting
        ? `the task waits for ${waiting.for}: ${waiting.prompt}`
        : 'the task continues: read it with task__get_status-v1, or repeat the call with the same ' +
          `_meta["${IDEMPOTENCY_KEY}"]`,
    },
    { task_id, state, ...(waiting ? { waiting } : {}) },
  );

/** @throws TroupeError INVALID_ARGUMENT */
function keyOf(meta: RequestMeta | undefined): string | undefined {
  const key = meta?.[IDEMPOTENCY_KEY];
  if (key === undefined) return undefined;
  if (typeof key === 'string' && key.length > 0 && key.length <= 256) return key;
  throw new TroupeError(
    'INVALID_ARGUMENT',
    `_meta["${IDEMPOTENCY_KEY}"] must be a text of 1 to 256 characters`,
  );
}

const contextOf = (key: string): string => `mcp-${hash('sha256', key, 'base64url')}`;

const traceOf = (meta: RequestMeta | undefined) => {
  const { traceparent, tracestate } = meta ?? {};
  return {
    traceparent: typeof traceparent === 'string' ? traceparent : undefined,
    tracestate: typeof tracestate === 'string' ? tracestate : undefined,
  };
};
