/**
 * Routes that are loaded with their first request: all operations, and the documents that describe
 * them.
 */
import { documentRoutes, type DocumentRoutesOptions } from '../channels/http/documents.ts';
import { type OperationRouteOptions, operationRoutes } from '../channels/http/operation-routes.ts';
import type { Route } from '../channels/http/route.ts';
import { RESOURCES } from '../operations/index.ts';

export const lateRoutes = (
  operations: OperationRouteOptions,
  documents: DocumentRoutesOptions,
): readonly Route[] => [...operationRoutes(RESOURCES, operations), ...documentRoutes(documents)];
