/** The paths of the OpenAPI document that are derived from operations. */
import { type TSchema, Type } from '@sinclair/typebox';
import type { Schema } from '../protocols/openapi/documents.ts';
import {
  answered,
  headerParameter,
  job,
  json,
  pathParameter,
  queryParameter,
  tenant,
} from '../protocols/openapi/operation.ts';
import { type Operation, pathNames, type Resource } from './operation.ts';

export function operationPaths(resources: readonly Resource[]): Schema {
  const paths: Record<string, Schema> = {};
  for (const { operations } of resources)
    for (const operation of operations) {
      const { path, method } = operation.http;
      paths[path] = { ...paths[path], [method.toLowerCase()]: pathItem(operation) };
    }
  return paths;
}

function pathItem({ summary, params, result, errors, http, scope }: Operation): Schema {
  const inPath = pathNames(http);
  const others = Object.keys(params.properties).filter((name) => !inPath.includes(name));
  const inBody = http.method === 'POST';
  const body = Type.Omit(params, [...inPath]);
  return job({
    id: http.operationId,
    summary,
    parameters: [
      ...inPath.map((name) => pathParameter(name, descriptionOf(params.properties[name]))),
      ...(inBody ? [] : others).map((name) =>
        queryParameter(name, descriptionOf(params.properties[name])),
      ),
      ...(http.isKeyed ? [idempotencyKey] : []),
      ...(scope === 'installation' ? [] : [tenant]),
    ],
    ...(inBody && others.length > 0 ? { body: json(body) } : {}),
    answers: Object.fromEntries(
      Object.entries(http.responses).map(([status, text]) => [status, answered(text, result)]),
    ),
    errors,
  });
}

const idempotencyKey = headerParameter(
  'Idempotency-Key',
  'A repeat within 24 hours receives the first answer; with another request: CONFLICT',
);

const descriptionOf = (schema: TSchema | undefined): string => schema?.description ?? '';
