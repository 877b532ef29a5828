/**
 * The definition of an operation: something that an operator or a program can ask the system to do,
 * written once. HTTP routes (`channels/http/operation-routes.ts`), the OpenAPI document
 * (`openapi.ts`), commands (`cli/operation-commands.ts`) and docs/operations.md are derived from
 * it.
 *
 * Boundary: an entry point authenticates the caller and checks the parameters before it calls
 * `run`. `run` reads committed rows and sends messages to actors; it does not know which entry
 * point called it. It reports every failure as a TroupeError, whose code determines the HTTP status
 * (`ERRORS`) and the exit code (`cli/exit.ts`).
 */
import type { Static, TObject, TSchema } from '@sinclair/typebox';
import type { ErrorCode } from '../protocols/errors.ts';
import type { System } from '../runtime/index.ts';

/** What `run` may use. */
export type OperationContext = {
  readonly system: Pick<System, 'index' | 'ask' | 'deadLetters'>;
  /** checked; that of the caller unless the request names another */
  readonly tenant: string;
  readonly caller: { readonly sub: string };
};

/**
 * Who may call an operation: an operator of the tenant that the request names, or an operator of
 * the whole installation. An operation with scope `tenant` has a parameter `tenant` everywhere.
 */
export type OperationScope = 'tenant' | 'installation';

/**
 * Parameters named in the path are read from it. `GET` and `DELETE` read the others from the query,
 * `POST` from a JSON body.
 */
export type HttpBinding = {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** as `/v1/conversations/{id}` */
  readonly path: string;
  readonly operationId: string;
  /** describes the successful response in the OpenAPI document */
  readonly response: string;
  /** largest request body; default 16,384 */
  readonly bodyBytesMax?: number;
};

/** Parameters in `args` are positional arguments in that order; the others are options. */
export type CliBinding<P extends TObject, R extends TSchema> = {
  /** as `conversations list` */
  readonly command: string;
  /** runs when the group is called without a command */
  readonly isDefault?: boolean;
  readonly args?: readonly (string & keyof Static<P>)[];
  /** commander flags of each option, as `--session <key>`; default `--NAME <value>` */
  readonly flags?: Readonly<Partial<Record<string & keyof Static<P>, string>>>;
  /** command lines that help shows */
  readonly examples?: readonly string[];
  /** the result as a person reads it, with its line breaks */
  print(this: void, result: Static<R>, params: Static<P>): string;
};

export type Operation<P extends TObject = TObject, R extends TSchema = TSchema> = {
  /** as `conversations.list` */
  readonly name: string;
  readonly scope: OperationScope;
  /** one line, for all documents and for help */
  readonly summary: string;
  /** each property has a description; without `tenant` */
  readonly params: P;
  readonly result: R;
  /** codes that `run` throws beside those that every operation has */
  readonly errors: readonly ErrorCode[];
  readonly http: HttpBinding;
  readonly cli?: CliBinding<P, R>;
  /** @throws TroupeError */
  run(this: void, context: OperationContext, params: Static<P>): Promise<Static<R>> | Static<R>;
};

/** The operations of one resource; commands are grouped by it. */
export type Resource = {
  readonly name: string;
  /** for help of the command group */
  readonly description: string;
  readonly operations: readonly Operation[];
};

/** Infers the parameters and the result of `run` and `print` from the schemas. */
export const defineOperation = <P extends TObject, R extends TSchema>(
  operation: Operation<P, R>,
): Operation<P, R> => operation;

/** Names in the path of an operation, as `id` in `/v1/conversations/{id}`. */
export const pathNames = ({ path }: HttpBinding): readonly string[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
