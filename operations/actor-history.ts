/** The turns of an actor that are kept, and one of them with what it processed and sent. */
import { Type } from '@sinclair/typebox';
import type {
  ActorHistory,
  ActorRecording,
  ActorTurn,
  ActorTurnDetail,
} from '../protocols/actor-view.ts';
import { defined } from '../protocols/defined.ts';
import { TroupeError } from '../protocols/errors.ts';
import { plainText } from '../protocols/plain-text.ts';
import { actorOf } from './actor-of.ts';
import { masked } from './masked.ts';
import { defineOperation, ObjectOf } from './operation.ts';
import { isoTime } from './text.ts';

const SHOWN_MAX = 1_000;
const SHOWN = 100;

const actor = Type.String({ description: 'Address: tenant/type/key' });

export const history = defineOperation({
  name: 'actors.history',
  scope: 'tenant',
  summary: 'List the turns of an actor, newest first',
  params: Type.Object({
    actor,
    before: Type.Optional(
      Type.Integer({ minimum: 1, description: 'Only turns before the turn with this number' }),
    ),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: SHOWN_MAX,
        description: `Maximum number; default ${SHOWN}`,
      }),
    ),
  }),
  result: ObjectOf<ActorHistory>(),
  errors: ['INVALID_ARGUMENT', 'NOT_FOUND'],
  http: {
    method: 'GET',
    path: '/v1/actors/{actor}/history',
    operationId: 'listActorTurns',
    responses: { 200: 'The turns, newest first' },
  },
  cli: {
    command: 'actors history',
    args: ['actor'],
    examples: [
      'troupe actors history default/session/agent:main:main',
      'troupe actors history default/session/agent:main:main --before 1200 --limit 20',
    ],
    print: (found) => historyText(found),
  },
  async run({ system, tenant, maskSecrets }, { actor: text, before, limit = SHOWN }) {
    const of = actorOf(tenant, text);
    const found = await system.actors.history(of, { limit, ...defined({ before }) });
    return masked(found, maskSecrets);
  },
});

export const turn = defineOperation({
  name: 'actors.turn',
  scope: 'tenant',
  summary: 'Show one turn of an actor: what it processed, sent and requested',
  params: Type.Object({
    actor,
    turn: Type.Integer({ minimum: 1, description: 'Number of the turn' }),
    context: Type.Optional(
      Type.Boolean({ description: 'With the context after the turn; known secrets are masked' }),
    ),
  }),
  result: ObjectOf<ActorTurnDetail>(),
  errors: ['INVALID_ARGUMENT', 'NOT_FOUND'],
  http: {
    method: 'GET',
    path: '/v1/actors/{actor}/history/{turn}',
    operationId: 'getActorTurn',
    responses: { 200: 'The turn' },
  },
  cli: {
    command: 'actors turn',
    args: ['actor', 'turn'],
    flags: { context: '--context' },
    examples: ['troupe actors turn default/session/agent:main:main 1187'],
    print: (found) => `${JSON.stringify(found, null, 2)}\n`,
  },
  async run({ system, tenant, maskSecrets }, { actor: text, turn: number, context = false }) {
    const found = await system.actors.turn(actorOf(tenant, text), number, { context });
    if (!found) throw new TroupeError('NOT_FOUND', `turn ${number} of ${text} is not kept`);
    return masked(found, maskSecrets);
  },
});

export const recording = defineOperation({
  name: 'actors.recording',
  scope: 'tenant',
  gatewayScope: 'operator.admin',
  summary: 'Get the turns of an actor with their bodies, for a replay',
  params: Type.Object({ actor }),
  result: ObjectOf<ActorRecording>(),
  errors: ['INVALID_ARGUMENT', 'NOT_FOUND', 'FORBIDDEN'],
  http: {
    method: 'GET',
    path: '/v1/actors/{actor}/recording',
    operationId: 'getActorRecording',
    responses: { 200: 'The recording' },
  },
  async run({ system, tenant, maskSecrets }, { actor: text }) {
    const found = await system.actors.recording(actorOf(tenant, text));
    if (found.turns === 0)
      throw new TroupeError('NOT_FOUND', `no turns with bodies are kept of ${text}`);
    // Masked bytes could not be replayed.
    const bytes = Buffer.from(found.bytes, 'base64').toString('latin1');
    if (maskSecrets(bytes) === bytes) return found;
    throw new TroupeError('FORBIDDEN', `the turns of ${text} contain a secret of the installation`);
  },
});

function historyText({ kept, turns, next }: ActorHistory): string {
  if (kept === 'none') return 'no history is kept of this type of actor\n';
  if (turns.length === 0) return 'no turns are kept\n';
  const lines = turns.map((shown) => `${shown.turn}  ${isoTime(shown.at)}  ${turnText(shown)}\n`);
  const more = next === undefined ? '' : `older turns: --before ${next}\n`;
  return `${lines.join('')}${more}`;
}

/** One turn on a line, without its number and time. */
export function turnText(shown: ActorTurn): string {
  const { input, from, result, why, before, state, path = [], sent, opened, ended } = shown;
  const messages = sent.map(({ to, type }) => `${type} to ${to}`).join(', ');
  const deferring = before === undefined ? 'its state' : JSON.stringify(before);
  const waits = result === 'stashed' ? `waits, because ${deferring} defers it` : why;
  const states = path.length > 0 ? path : state === undefined ? [] : [state];
  const parts = [
    `${input}${from === undefined ? '' : ` from ${from}`}`,
    result === 'applied' ? '' : `[${result}${waits === undefined ? '' : `: ${waits}`}]`,
    states.map((value) => `-> ${JSON.stringify(value)}`).join(' '),
    opened.length === 0 ? '' : `starts ${opened.join(', ')}`,
    ended.length === 0 ? '' : `ends ${ended.join(', ')}`,
    messages === '' ? '' : `sends ${messages}`,
  ];
  return plainText(parts.filter((part) => part !== '').join('  '));
}
