/**
 * Lists of things that troupe has none of, for clients that need the list to work: they say that
 * something failed, or ask again and again, where the method is unknown. What is not here for that
 * reason is an unknown method.
 */
import { Type } from '@sinclair/typebox';
import type { MethodArea } from './method.ts';
import { closed } from './shapes.ts';

const Nothing = Type.Object({}, closed);

export const absentMethods = {
  /** agents ask people by messages, and by approvals of commands */
  'question.list': {
    params: Nothing,
    result: Type.Object({ questions: Type.Array(Type.Never(), { maxItems: 0 }) }),
    scope: 'operator.questions',
  },
  /** there are no plugins that could ask */
  'plugin.approval.list': {
    params: Nothing,
    result: Type.Array(Type.Never(), { maxItems: 0 }),
    scope: 'operator.approvals',
  },
  /** no agent changes the system by itself; `openclaw approvals` asks for three lists, or fails */
  'openclaw.approval.list': {
    params: Nothing,
    result: Type.Array(Type.Never(), { maxItems: 0 }),
    scope: 'operator.approvals',
  },
  /**
   * Patterns of allowed commands are in the configuration and with each agent, not in OpenClaw's
   * file. The Control UI asks before it has read `features.methods`, and shows the refusal.
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
  /** jobs take the place of heartbeats: there never was one */
  'last-heartbeat': {
    params: Nothing,
    result: Type.Null(),
    scope: 'operator.read',
  },
} as const satisfies MethodArea;
