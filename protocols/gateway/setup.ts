/**
 * What troupe is made of, to look at and to change: `agents.*`, `models.*`, `config.*`, `skills.*`,
 * `tools.*`.
 */
import { Type } from '@sinclair/typebox';
import type { MethodArea } from './method.ts';
import { closed } from './shapes.ts';

export const setupMethods = {
  'agents.list': {
    params: Type.Object({}, closed),
    result: Type.Unknown(),
    scope: 'operator.read',
  },
  'models.list': { params: Type.Object({}), result: Type.Unknown(), scope: 'operator.read' },
} as const satisfies MethodArea;
