/**
 * The definition of an operation: something that an operator or a program can ask the system to do,
 * written once. HTTP routes (`channels/http/operation-routes.ts`), the gateway method
 * `operations.run` (`channels/gateway/methods/operations.ts`), the OpenAPI document (`openapi.ts`),
 * commands (`cli/operation-commands.ts`) and docs/operations.md are derived from it.
 *
 * Boundary: an entry point authenticates the caller and checks the parameters before it calls
 * `run`. `run` reads committed rows and sends messages to actors; it does not know which entry
 * point called it. It reports every failure as a TroupeError, whose code determines the HTTP status
 * (`ERRORS`) and the exit code (`cli/exit.ts`).
 */
import { type Static, type TObject, type TSchema, Type } from '@sinclair/typebox';
import type { Payload } from '../protocols/device.ts';
import type { DiskSpace } from '../protocols/disk.ts';
import type { ErasureEffects } from '../protocols/erasure.ts';
import type { ErrorCode } from '../protocols/errors.ts';
import type { Scope } from '../protocols/gateway/connect.ts';
import type { NoteInfo, NotesFound } from '../protocols/memory.ts';
import type { ModelRules } from '../protocols/models/model-choice.ts';
import type { PluginRow } from '../protocols/plugin.ts';
import type { RetentionAge, RetentionPlan } from '../protocols/retention.ts';
import type { ClusterValues } from '../protocols/settings.ts';
import type { RemoteServer } from '../protocols/remote-server.ts';
import type { Metrics, System } from '../runtime/index.ts';
import type { AgentNames } from './sessions/session-key.ts';

/** What operations use of the process that serves them. */
export type OperationServices = {
  readonly system: Omit<System, 'stop' | 'inspect' | 'caughtUp' | 'cell'>;
  readonly metrics: Pick<Metrics, 'ack'>;
  /** epoch milliseconds */
  now(this: void): number;
  /** the model catalog of a tenant */
  models(this: void, tenant: string): ModelRules;
  /** the agents of a tenant, with their models */
  agents(this: void, tenant: string): AgentNames;
  /** the MCP servers and A2A agents of the tenant's configuration, without secrets */
  remoteServers(this: void, tenant: string): readonly RemoteServer[];
  /** names of the hooks that runs of the tenant call */
  hooks(this: void, tenant: string): readonly string[];
  /** the plugins of this process */
  readonly plugins: {
    rows(this: void): readonly PluginRow[];
    /** @throws TroupeError NOT_FOUND; UNAVAILABLE when it does not start */
    restart(this: void, id: string): Promise<void>;
  };
  /** the disks with data of this process */
  disks(this: void): readonly DiskSpace[];
  /** what operators should know about this process, in a sentence each */
  notices(this: void): readonly string[];
  readonly configuration: {
    status(this: void): ConfigurationStatus;
    /** @throws TroupeError INVALID_ARGUMENT for values that cannot be set for the whole cluster */
    assertValues(this: void, values: ClusterValues): void;
  };
  /** the notes of agents, which exist */
  readonly notes: {
    /** @throws TroupeError UNAVAILABLE when the workspace cannot be opened, here or now */
    search(
      this: void,
      tenant: string,
      agentId: string,
      question: { readonly query: string; readonly maxResults?: number | undefined },
    ): Promise<NotesFound>;
    /** @throws as `search` */
    list(this: void, tenant: string, agentId: string): Promise<readonly NoteInfo[]>;
    /** undefined: there is no such note, or it cannot be read. @throws as `search` */
    read(this: void, tenant: string, agentId: string, path: string): Promise<string | undefined>;
    /**
     * @throws TroupeError CONFLICT without a model of embeddings, INVALID_ARGUMENT when its
     * provider
     *   has no batches
     */
    assertBatches(this: void, tenant: string): void;
  };
  /** of this process */
  readonly erasure: Pick<ErasureEffects, 'survey'>;
  readonly retention: {
    /** of the configuration */
    tenants(this: void): readonly string[];
    ages(this: void, tenant: string): readonly RetentionAge[];
    /** What a sweep would remove now. @throws TroupeError UNAVAILABLE */
    plan(this: void, tenant: string): Promise<RetentionPlan>;
  };
  /**
   * A signed URL of a file of the tenant, GET only.
   * @throws TroupeError NOT_FOUND, UNAVAILABLE
   */
  sign(this: void, tenant: string, hash: string): Promise<string>;
  /** replaces every secret that the installation knows */
  maskSecrets(this: void, text: string): string;
  /**
   * The answer of a device, which may be a file of the tenant.
   * @throws TroupeError UNAVAILABLE when the file cannot be read
   */
  payloadText(this: void, tenant: string, payload: Payload): Promise<string>;
};

/** What a process knows about its configuration. */
export type ConfigurationStatus = {
  /** keys whose new value takes effect at the next start */
  readonly restartNeeded: readonly string[];
  /** keys of agents that the file sets differently than the cluster: `troupe config apply` */
  readonly applyNeeded: readonly string[];
  /** problems of the file, which is ignored until they are corrected */
  readonly problems: readonly {
    readonly path: string;
    readonly message: string;
    readonly where?: string;
  }[];
  /** version 0: nothing was set */
  readonly cluster: { readonly version: number; readonly values: ClusterValues };
};

/** The devices and gateways that are connected now. */
export type LiveConnections = {
  isConnected(this: void, deviceId: string): boolean;
  isAlive(this: void, gateway: string): boolean;
};

/** What `run` may use. */
export type OperationContext = OperationServices & {
  /** checked; that of the caller unless the request names another */
  readonly tenant: string;
  readonly caller: { readonly sub: string };
  /** chosen by the client: a repeat of the request receives the first answer */
  readonly idempotencyKey?: string;
  /** absent where the entry point does not know them, as over HTTP */
  readonly live?: LiveConnections;
};

/**
 * Who may call an operation, and for which tenant.
 *
 * `tenant`: operators of the tenant that the request names, and operators of the whole
 * installation. `any-tenant`: operators of the whole installation; the request names a tenant.
 * `installation`: operators of the whole installation; the operation concerns all tenants.
 */
export type OperationScope = 'tenant' | 'any-tenant' | 'installation';

/**
 * Parameters named in the path are read from it. `GET` and `DELETE` read the others from the query,
 * `POST` from a JSON body.
 */
export type HttpBinding<R extends TSchema> = {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** as `/v1/conversations/{id}` */
  readonly path: string;
  readonly operationId: string;
  /** successful responses by status, as the OpenAPI document describes them */
  readonly responses: Readonly<Record<number, string>>;
  /** default: status 200 */
  reply?(
    this: void,
    result: Static<R>,
  ): { readonly status: number; readonly headers?: Readonly<Record<string, string>> };
  /** largest request body; default 16,384 */
  readonly bodyBytesMax?: number;
  /** the header `Idempotency-Key` is passed to `run` */
  readonly isKeyed?: true;
};

/**
 * Arguments and options of a command, and their parameters. Every property of `schema` is an option
 * unless it is in `args`: a Boolean has no value, an Integer is a number from 1, a union of
 * literals lists its choices, an array is a list of words, Unknown is JSON.
 */
export type CliInput<P extends TObject> = {
  readonly schema: TObject;
  /** @throws TroupeError INVALID_ARGUMENT */
  toParams(this: void, given: Readonly<Record<string, unknown>>): Static<P>;
};

export type CliBinding<P extends TObject, R extends TSchema> = {
  /** as `conversations list`, or one word */
  readonly command: string;
  /** a WebSocket also accepts the credential of a device; default: HTTP */
  readonly connection?: 'websocket';
  /** how long the command waits for a WebSocket's answer, in milliseconds; default 30,000 */
  waitMs?(this: void, params: Static<P>): number;
  /** default: the parameters of the operation */
  readonly input?: CliInput<P>;
  /** names of positional arguments, in their order */
  readonly args?: readonly string[];
  /** commander flags of options, as `-m, --message <text>`; default `--NAME <value>` */
  readonly flags?: Readonly<Record<string, string>>;
  /** what the command asks first, unless it has --yes; undefined: nothing */
  question?(this: void, params: Static<P>): string | undefined;
  /** a positional argument may begin with a dash */
  readonly allowsDash?: true;
  /** command lines that help shows */
  readonly examples?: readonly string[];
  /**
   * The result as text for a terminal, with its line breaks.
   * @param given what the command line contained: properties of `input.schema`
   */
  print(
    this: void,
    result: Static<R>,
    params: Static<P>,
    given: Readonly<Record<string, unknown>>,
  ): string;
  /** the exit code is 1 for such a result */
  isFailure?(this: void, result: Static<R>): boolean;
};

export type Operation<P extends TObject = TObject, R extends TSchema = TSchema> = {
  /** as `conversations.list` */
  readonly name: string;
  readonly scope: OperationScope;
  /** what a WebSocket client needs; default `operator.read` with GET, `operator.admin` otherwise */
  readonly gatewayScope?: Scope;
  /** one line, for all documents and for help */
  readonly summary: string;
  /** each property has a description; without `tenant`, which `scope` adds */
  readonly params: P;
  readonly result: R;
  /** codes that `run` throws in addition to those that every operation has */
  readonly errors: readonly ErrorCode[];
  /** errors never show parameters whose JSON pointer matches */
  readonly secret?: RegExp;
  readonly http: HttpBinding<R>;
  readonly cli?: CliBinding<P, R>;
  /** @throws TroupeError */
  run(this: void, context: OperationContext, params: Static<P>): Promise<Static<R>> | Static<R>;
};

/** The operations of one resource; commands of two words are grouped by it. */
export type Resource = {
  /** name of the command group */
  readonly name: string;
  readonly operations: readonly Operation[];
};

/** Infers the parameters and the result of `run` and `print` from the schemas. */
export const defineOperation = <P extends TObject, R extends TSchema>(
  operation: Operation<P, R>,
): Operation<P, R> => operation;

/** The scope that a WebSocket client needs. HTTP callers are operators with all scopes. */
export const gatewayScopeOf = ({
  gatewayScope,
  http,
}: Pick<Operation, 'gatewayScope' | 'http'>): Scope =>
  gatewayScope ?? (http.method === 'GET' ? 'operator.read' : 'operator.admin');

/** Names in the path of an operation, as `id` in `/v1/conversations/{id}`. */
export const pathNames = ({ path }: Pick<HttpBinding<TSchema>, 'path'>): readonly string[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);

/** A result that the OpenAPI document describes as an object only. */
export const ObjectOf = <T>() => Type.Unsafe<T>({ type: 'object' });
