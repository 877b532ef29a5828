/**
 * Effects with an unknown outcome: their process crashed while they ran, and they may not run
 * twice. An operator who knows what happened decides. The outcome of tasks is decided with
 * `decisions.answer`, which also records the reason.
 */
import { Type } from '@sinclair/typebox';
import { parseAddress } from '../protocols/address.ts';
import { TroupeError } from '../protocols/errors.ts';
import type { Decision, UnknownEffect } from '../runtime/index.ts';
import { actorOf } from './actor-of.ts';
import { masked } from './masked.ts';
import { defineOperation, ObjectOf, type OperationContext, type Resource } from './operation.ts';
import { ago, table } from './text.ts';

const ofTenant = ({ system, tenant }: OperationContext): readonly UnknownEffect[] =>
  system.unknownEffects().filter(({ actor }) => parseAddress(actor).tenant === tenant);

const list = defineOperation({
  name: 'effects.list',
  scope: 'any-tenant',
  summary: 'List effects with an unknown outcome, oldest first',
  params: Type.Object({}),
  result: Type.Object({ effects: Type.Array(ObjectOf<UnknownEffect>()) }),
  errors: [],
  http: {
    method: 'GET',
    path: '/v1/effects',
    operationId: 'listUnknownEffects',
    responses: { 200: 'With their inputs; known secrets are masked' },
  },
  cli: {
    command: 'effects list',
    connection: 'websocket',
    print: ({ effects }) => listText(effects, Date.now()),
  },
  run: (context) => ({
    effects: ofTenant(context)
      .toSorted((a, b) => a.at - b.at)
      .map((effect) => masked(effect, context.maskSecrets)),
  }),
});

const listText = (effects: readonly UnknownEffect[], now: number): string =>
  effects.length === 0
    ? 'no effect has an unknown outcome\n'
    : table(
        ['effect', 'of', 'attempt', 'requested', 'id'],
        effects.map(({ id, actor, effect, attempt, at }) => [
          effect,
          actor,
          String(attempt),
          `${ago(now - at)} ago`,
          id,
        ]),
      );

const decide = defineOperation({
  name: 'effects.decide',
  scope: 'any-tenant',
  summary: 'Decide the outcome of an effect: run it again, it was done, or it failed',
  params: Type.Object({
    id: Type.String({ minLength: 1, description: 'Id of the effect, from the list' }),
    decision: Type.Union([Type.Literal('again'), Type.Literal('done'), Type.Literal('failed')], {
      description: 'Run it again, it was done, or it failed',
    }),
    output: Type.Optional(Type.Unknown({ description: 'With `done`: its output, JSON' })),
    why: Type.Optional(
      Type.String({ minLength: 1, maxLength: 1_024, description: 'With `failed`: the error' }),
    ),
  }),
  result: Type.Object({ id: Type.String(), decision: Type.String() }),
  errors: ['INVALID_ARGUMENT', 'NOT_FOUND', 'UNAVAILABLE'],
  http: {
    method: 'POST',
    path: '/v1/effects/{id}/decision',
    operationId: 'decideEffect',
    responses: { 200: 'Stored; its actor continues' },
  },
  cli: {
    command: 'effects decide',
    args: ['id', 'decision'],
    connection: 'websocket',
    flags: { output: '--output <json>', why: '--why <text>' },
    examples: [
      "troupe effects decide 'default/session/agent:main:main|3' again",
      `troupe effects decide 'default/session/agent:main:main|3' failed --why 'the mail bounced'`,
    ],
    print: ({ id, decision }) => `${id} is decided: ${decision}\n`,
  },
  async run(context, { id, decision, ...more }) {
    if (!ofTenant(context).some((effect) => effect.id === id))
      throw new TroupeError(
        'NOT_FOUND',
        `no effect ${id} of the tenant ${context.tenant} has an unknown outcome`,
      );
    const answer = await context.system.decide(id, decisionOf(decision, more));
    if (answer.kind === 'accepted') return { id, decision };
    throw new TroupeError(answer.error.code, answer.error.message);
  },
});

const cancel = defineOperation({
  name: 'effects.cancel',
  scope: 'tenant',
  summary: 'Cancel an open effect: its actor receives a failure; it may have happened',
  params: Type.Object({
    actor: Type.String({ description: 'Address of the actor that requested it' }),
    id: Type.String({ minLength: 1, description: 'Id of the effect, as `actors.show` lists it' }),
    why: Type.String({ minLength: 1, maxLength: 1_024, description: 'The reason: its error' }),
  }),
  result: Type.Object({ id: Type.String() }),
  errors: ['INVALID_ARGUMENT', 'NOT_FOUND', 'UNAVAILABLE'],
  http: {
    method: 'POST',
    path: '/v1/effects/{id}/cancel',
    operationId: 'cancelEffect',
    responses: { 200: 'Stored; an effect that ended in the meantime keeps its outcome' },
  },
  cli: {
    command: 'effects cancel',
    args: ['actor', 'id'],
    connection: 'websocket',
    flags: { why: '--why <text>' },
    examples: [
      "troupe effects cancel default/session/agent:main:main 'default/session/agent:main:main|3' --why 'it hangs'",
    ],
    print: ({ id }) => `${id} is cancelled\n`,
  },
  async run({ system, tenant }, { actor, id, why }) {
    const shown = await system.actors.get(actorOf(tenant, actor));
    if (!shown?.effects.some((effect) => effect.id === id))
      throw new TroupeError('NOT_FOUND', `${actor} has no open effect ${id}`);
    const answer = await system.cancelEffect(id, why);
    if (answer.kind === 'accepted') return { id };
    throw new TroupeError(answer.error.code, answer.error.message);
  },
});

/** @throws TroupeError INVALID_ARGUMENT */
function decisionOf(
  kind: Decision['kind'],
  { output, why }: { readonly output?: unknown; readonly why?: string },
): Decision {
  if (kind === 'done') return { kind, output };
  if (kind === 'again') return { kind };
  if (why === undefined) throw new TroupeError('INVALID_ARGUMENT', '/why is required with failed');
  return { kind, error: { code: 'INTERNAL', message: why } };
}

export const effects: Resource = { name: 'effects', operations: [list, decide, cancel] };
