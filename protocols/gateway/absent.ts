/**
 * Methods that always return an empty list, because troupe does not have the feature. Some clients
 * show an error or poll repeatedly when these methods are unknown. Other missing features have no
 * method.
 */
import { Type } from '@sinclair/typebox';
import type { MethodArea } from './method.ts';
import { closed } from './shapes.ts';

const Nothing = Type.Object({}, closed);

export const absentMethods = {
  /** agents ask users in messages and by approvals of commands */
  'question.list': {
    params: Nothing,
    result: Type.Object({ questions: Type.Array(Type.Never(), { maxItems: 0 }) }),
    scope: 'operator.questions',
  },
  /** troupe has no plugins */
  'plugin.approval.list': {
    params: Nothing,
    result: Type.Array(Type.Never(), { maxItems: 0 }),
    scope: 'operator.approvals',
  },
  /** no agent changes the system; `openclaw approvals` fails unless all three lists exist */
  'openclaw.approval.list': {
    params: Nothing,
    result: Type.Array(Type.Never(), { maxItems: 0 }),
    scope: 'operator.approvals',
  },
  /**
   * Patterns of allowed commands are in the configuration and with each agent, not in OpenClaw's
   * file. The Control UI calls this method before it reads `features.methods`, and shows an error
   * if the method is unknown.
   */
  'exec.approvals.get': {
    params: Nothing,
    result: Type.Object({
      path: Type.String({ minLength: 1 }),
      exists: Type.Literal(false),
      hash: Type.String({ minLength: 1 }),
      file: Type.Object({ version: Type.Literal(1) }),
    }),
    scope: 'operator.admin',
  },
  /** scheduled jobs replace heartbeats, so there is no last one */
  'last-heartbeat': {
    params: Nothing,
    result: Type.Null(),
    scope: 'operator.read',
  },
} as const satisfies MethodArea;
