/**
 * Push configurations of a task, for its caller: each is an actor, which posts the changes of the
 * task. What a client reads back has no secrets.
 */
import { randomUUID } from 'node:crypto';
import type {
  ListTaskPushNotificationConfigsRequest,
  ListTaskPushNotificationConfigsResponse,
  TaskPushNotificationConfig,
} from '@a2a-js/sdk';
import { TaskNotFoundError } from '@a2a-js/sdk/errors';
import type { Address } from '../../protocols/address.ts';
import { TroupeError } from '../../protocols/errors.ts';
import {
  PUSH_INDEX,
  pushAddress,
  type PushConfig,
  type PushConfigure,
  pushKey,
  type PushRemove,
  type PushRow,
} from '../../protocols/push.ts';
import { taskAddress, type TaskView } from '../../protocols/task.ts';
import { type TaskReserveWatcher } from '../../protocols/task-watch.ts';
import type { System } from '../../runtime/index.ts';
import type { Caller } from '../edge/edge.ts';
import type { Sealer } from '../edge/identity/sealer.ts';
import { sealSecrets } from './push-secrets.ts';

const TIMEOUT_MS = 10_000;
const ID_CHARACTERS_MAX = 128;
const SECRET_CHARACTERS_MAX = 8_192;
const URL_CHARACTERS_MAX = 2_048;
/** RFC 9110, 11.1. */
const SCHEME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/;
/** No character that would end a header. */
const SECRET = /^[\x20-\x7e]*$/;

export type PushConfigsOptions = {
  readonly system: Pick<System, 'ask' | 'index'>;
  readonly sealer: Pick<Sealer, 'publicJwk'>;
};

type Owner = Pick<Caller, 'tenant' | 'sub' | 'roles'>;

export class PushConfigs {
  readonly #o: PushConfigsOptions;

  constructor(options: PushConfigsOptions) {
    this.#o = options;
  }

  /**
   * The task keeps a place for it first: a task has WATCHERS_MAX at most, of all callers.
   * @throws TroupeError INVALID_ARGUMENT; RATE_LIMIT_EXCEEDED; CONFLICT when its id is another's
   */
  async create(
    caller: Owner,
    view: TaskView,
    wanted: TaskPushNotificationConfig,
  ): Promise<TaskPushNotificationConfig> {
    assertConfig(wanted);
    const { token, authentication } = wanted;
    const config: PushConfig = {
      task_id: view.task_id,
      config_id: wanted.id === '' ? randomUUID() : wanted.id,
      url: wanted.url,
      principal: caller.sub,
      ...(authentication ? { scheme: authentication.scheme } : {}),
    };
    const credentials = authentication?.credentials ?? '';
    const hasSecret = token !== '' || credentials !== '';
    const secrets = { token, credentials };
    const event: PushConfigure = {
      type: 'push.configure',
      config,
      ...(hasSecret
        ? { secret: await sealSecrets(this.#o.sealer, secrets, caller.tenant, config) }
        : {}),
    };
    const to = addressOf(caller, config);
    const place: TaskReserveWatcher = { type: 'task.reserve_watcher', watcher: to };
    await this.#ask(caller, taskAddress(caller.tenant, view.task_id), place);
    await this.#ask(caller, to, event);
    return shown(config);
  }

  get(caller: Owner, taskId: string, id: string): TaskPushNotificationConfig {
    return shown(this.#own(caller, taskId, id));
  }

  list(
    caller: Owner,
    { taskId }: Pick<ListTaskPushNotificationConfigsRequest, 'taskId'>,
  ): ListTaskPushNotificationConfigsResponse {
    const own = this.#rows(caller.tenant, taskId).filter(isOf(caller));
    return { configs: own.map(shown), nextPageToken: '' };
  }

  /** A configuration that does not exist is removed already. */
  async remove(caller: Owner, taskId: string, id: string): Promise<void> {
    const event: PushRemove = { type: 'push.remove' };
    const found = this.#rows(caller.tenant, taskId).find(({ config_id }) => config_id === id);
    if (found && isOf(caller)(found)) await this.#ask(caller, addressOf(caller, found), event);
  }

  #own(caller: Owner, taskId: string, id: string): PushRow {
    const key = pushKey(taskId, id);
    const of = pushAddress(caller.tenant, key);
    const row = this.#o.system.index.get<PushRow>(PUSH_INDEX, caller.tenant, key, of);
    if (row && isOf(caller)(row)) return row;
    throw new TaskNotFoundError('the task has no such push configuration');
  }

  #rows(tenant: string, taskId: string): readonly PushRow[] {
    const rows = this.#o.system.index.list<PushRow>(PUSH_INDEX, tenant, { prefix: `${taskId}.` });
    return rows.map(({ value }) => value);
  }

  async #ask(
    { sub, roles }: Owner,
    to: Address,
    event: PushConfigure | PushRemove | TaskReserveWatcher,
  ): Promise<void> {
    const options = { principal: { sub, roles }, repeatable: true as const, timeoutMs: TIMEOUT_MS };
    const answer = await this.#o.system.ask(to, event, options);
    if (answer.kind === 'answered') return;
    throw answer.kind === 'refused'
      ? TroupeError.from(answer.error)
      : new TroupeError('UNAVAILABLE', 'the push configuration did not answer: send it again');
  }
}

const addressOf = ({ tenant }: Owner, { task_id, config_id }: PushConfig): Address =>
  pushAddress(tenant, pushKey(task_id, config_id));

const isOf =
  ({ sub }: Owner) =>
  ({ principal }: PushConfig): boolean =>
    principal === sub;

/** Without its secrets. */
const shown = ({ task_id, config_id, url, scheme }: PushConfig): TaskPushNotificationConfig => ({
  tenant: '',
  id: config_id,
  taskId: task_id,
  url,
  token: '',
  authentication: scheme === undefined ? undefined : { scheme, credentials: '' },
});

/** @throws TroupeError INVALID_ARGUMENT */
export function assertConfig({ id, url, token, authentication }: TaskPushNotificationConfig): void {
  if (typeof id !== 'string' || id.length > ID_CHARACTERS_MAX)
    throw invalid(`its id must have at most ${ID_CHARACTERS_MAX} characters`);
  const parsed = URL.canParse(url) && url.length <= URL_CHARACTERS_MAX ? new URL(url) : undefined;
  if (!parsed || !/^https?:$/.test(parsed.protocol))
    throw invalid('its url must be an http(s) URL');
  if (parsed.username !== '' || parsed.password !== '') throw invalid('its url must name no user');
  for (const secret of [token, authentication?.credentials ?? ''])
    if (secret.length > SECRET_CHARACTERS_MAX || !SECRET.test(secret))
      throw invalid('its token and credentials must be printable ASCII');
  if (authentication && !SCHEME.test(authentication.scheme))
    throw invalid('its authentication.scheme must be a scheme of HTTP, as Bearer');
}

const invalid = (what: string): TroupeError =>
  new TroupeError('INVALID_ARGUMENT', `the push configuration is not valid: ${what}`);
