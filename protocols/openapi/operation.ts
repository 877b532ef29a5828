/** What the paths of the OpenAPI document are made of. */
import { defined } from '../defined.ts';
import type { Schema } from './documents.ts';
import { ERRORS, type ErrorCode } from '../errors.ts';

export const BASE = '#/components/schemas/';
export const ref = (name: string): Schema => ({ $ref: BASE + name });
export const json = (schema: Schema) => ({ 'application/json': { schema } });

type Operation = {
  readonly id: string;
  readonly tag: string;
  readonly summary: string;
  readonly answers: Schema;
  readonly errors: readonly ErrorCode[];
  readonly parameters?: readonly Schema[];
  readonly body?: Schema;
  /** no authentication */
  readonly open?: boolean;
  readonly description?: string;
};

export const operation = (o: Operation): Schema => ({
  operationId: o.id,
  tags: [o.tag],
  summary: o.summary,
  ...(o.description ? { description: o.description } : {}),
  ...(o.open ? { security: [] } : {}),
  ...defined({ parameters: o.parameters }),
  ...(o.body ? { requestBody: { required: true, content: o.body } } : {}),
  responses: {
    ...o.answers,
    ...Object.fromEntries(
      o.errors.map((code) => [
        String(ERRORS[code].http),
        { $ref: `#/components/responses/${code}` },
      ]),
    ),
  },
});

export const pathParameter = (name: string, description: string): Schema => ({
  name,
  in: 'path',
  required: true,
  description,
  schema: { type: 'string' },
});

/** An optional request header. */
export const headerParameter = (name: string, description: string): Schema => ({
  name,
  in: 'header',
  description,
  schema: { type: 'string' },
});

export const answered = (description: string, schema: Schema, headers?: Schema): Schema => ({
  description,
  ...defined({ headers }),
  content: json(schema),
});

export const queryParameter = (name: string, description: string, required = false): Schema => ({
  name,
  in: 'query',
  ...(required ? { required } : {}),
  description,
  schema: { type: 'string' },
});

export const text = (description?: string): Schema => ({
  type: 'string',
  ...(description ? { description } : {}),
});
/** An object that may have further fields. */
export const object = (
  properties: Readonly<Record<string, Schema>>,
  required: readonly string[] = Object.keys(properties),
): Schema => ({ type: 'object', required, properties });
export const listOf = (items: Schema): Schema => ({ type: 'array', items });

export const COMMON = ['UNAUTHORIZED', 'RATE_LIMIT_EXCEEDED', 'INTERNAL', 'UNAVAILABLE'] as const;

/** An object of which the document says no more. */
export const row: Schema = { type: 'object' };
export const tenant = queryParameter('tenant', 'Tenant; default: the tenant of the gateway');

type Job = Omit<Parameters<typeof operation>[0], 'tag' | 'errors'> & {
  readonly errors?: readonly ErrorCode[];
};
/** An operation for operators. */
export const job = ({ errors = [], ...own }: Job): Schema =>
  operation({
    tag: 'operators',
    description: 'For operators: the gateway’s own token, or the role `operator`.',
    ...own,
    errors: [...errors, 'FORBIDDEN', ...COMMON],
  });
