/**
 * checkSpecs: checks whether the actions of a registration are valid and whether the agent may
 * offer them. Repeatable.
 */
import { setImmediate } from 'node:timers/promises';
import {
  type ActionSpec,
  ActionSpecSchema,
  AGENTS_INDEX,
  type AgentRow,
  DEPRECATION_MS,
  majorOf,
} from '../../../protocols/action.ts';
import { checker, describeErrors, SemanticVersion } from '../../../protocols/check.ts';
import { parseAction } from '../../../protocols/envelope.ts';
import { errorData, TroupeError } from '../../../protocols/errors.ts';
import { type EffectDefinition, type Index, schemaCheck } from '../../../runtime/index.ts';
import type { CheckInput, Sunset, Verdict } from '../types.ts';
import { AGENTS_MAX } from '../../registry/roll.ts';
import { rightsAmong } from '../rights.ts';

export const AGENT_ACTIONS_MAX = 200;
/** Schemas of one action, as JSON. */
export const ACTION_SCHEMAS_BYTES_MAX = 65_536;
/**
 * Limit of all actions of one agent, as JSON. Every process that offers them keeps several copies
 * in memory: at this limit a full registry uses 2 GB in a gateway.
 */
const AGENT_BYTES_MAX = 262_144;
/** Domains whose actions are the cell's own, each with the agent that offers them. */
const RESERVED: Readonly<Record<string, string>> = { registry: 'registry', task: 'task' };

export const checkSpecs: EffectDefinition<CheckInput, Verdict> = {
  class: 'repeatable',
  timeoutMs: 60_000,
  run: async (input, context) => {
    try {
      await refuseInvalid(input, context.now());
      if (input.outside) refuseOthers(input, await context.index());
      return {};
    } catch (error) {
      return { refused: errorData(error) };
    }
  },
};

const checkSpec = checker(ActionSpecSchema);
const checkVersion = checker(SemanticVersion);

/** @throws TroupeError INVALID_ARGUMENT, PAYLOAD_TOO_LARGE that name the action */
async function refuseInvalid(
  { agentId, outside, announced, actions }: CheckInput,
  now: number,
): Promise<void> {
  if (!Array.isArray(actions)) throw invalid('actions must be a list');
  if (actions.length > AGENT_ACTIONS_MAX)
    throw invalid(`${actions.length} actions are too many: at most ${AGENT_ACTIONS_MAX}`);
  const bytes = bytesOf(actions);
  if (bytes > AGENT_BYTES_MAX) throw tooLarge(`the actions have ${bytes} bytes`, AGENT_BYTES_MAX);
  const seen = new Set<string>();
  for (const [at, spec] of actions.entries()) {
    // Checking a large schema takes as long as a hundred messages, so other work runs in between.
    await setImmediate();
    const answer = checkSpec(spec);
    if (!answer.ok) throw invalid(`actions[${at}]: ${describeErrors(answer.errors)}`);
    refuseSpec(agentId, spec);
    if (outside) {
      refuseOutside(spec, announced, now);
      await refuseSchemas(spec);
    }
    const name = `${spec.action} ${majorOf(spec.action_version)}`;
    if (seen.has(name)) throw invalid(`${name} is listed twice: list one version of each MAJOR`);
    seen.add(name);
  }
}

function refuseSpec(agentId: string, { action, action_version, schemas }: ActionSpec): void {
  const { domain, cancel } = parseAction(action);
  if (cancel) throw invalid(`${action}: a name that ends in .cancel is made by itself`);
  const owner = RESERVED[domain];
  if (owner !== undefined && owner !== agentId)
    throw invalid(`${action}: the domain ${domain} is the cell's own`);
  if (!checkVersion(action_version).ok)
    throw invalid(`${action}: ${JSON.stringify(action_version)} is not a semantic version`);
  const bytes = bytesOf(schemas);
  if (bytes > ACTION_SCHEMAS_BYTES_MAX)
    throw tooLarge(`${action}: its schemas have ${bytes} bytes`, ACTION_SCHEMAS_BYTES_MAX);
  if (Object.keys(schemas).length === 0)
    throw invalid(`${action}: it has no schema of its payload`);
}

/** Checks schemas of external agents. Local schemas are TypeBox schemas, which need no check. */
async function refuseSchemas({ action, schemas }: ActionSpec): Promise<void> {
  for (const [version, schema] of Object.entries(schemas)) {
    try {
      await schemaCheck(schema);
    } catch (error) {
      throw invalid(`${action}: schema ${version}: ${errorData(error).message}`);
    }
  }
}

function refuseOutside(spec: ActionSpec, announced: readonly Sunset[], now: number): void {
  const { action, action_version, sensitive, sunset_at } = spec;
  if (sensitive)
    throw invalid(
      `${action}: payloads are sealed to this cell, so that an agent outside cannot offer a sensitive action`,
    );
  if (sunset_at === undefined || Date.parse(sunset_at) >= now + DEPRECATION_MS) return;
  const isKnown = announced.some(
    (one) =>
      one.action === action &&
      one.major === majorOf(action_version) &&
      Date.parse(one.sunset_at) <= Date.parse(sunset_at),
  );
  if (!isKnown) throw invalid(`${action}: its sunset_at must be announced at least 30 days ahead`);
}

/** @throws TroupeError CONFLICT that names the owner of an action */
function refuseOthers(
  { agentId, tenant, owner, approved, actions }: CheckInput,
  index: Pick<Index, 'list'>,
): void {
  const all = index.list<AgentRow>(AGENTS_INDEX, tenant, { limit: AGENTS_MAX });
  const rows = all.map(({ value }) => value);
  const rights = rightsAmong(rows);
  for (const { action } of actions) {
    const first = rights.owner(action);
    if (!first || first.agent_id === agentId || approved.includes(action)) continue;
    if (first.url !== undefined && first.claims?.owner === owner) continue;
    throw new TroupeError(
      'CONFLICT',
      `${action} belongs to the agent ${first.agent_id}, which offered it first: take another name, or have an operator register ${agentId} with it`,
      { details: { action, owner: first.agent_id } },
    );
  }
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));
const invalid = (message: string) => new TroupeError('INVALID_ARGUMENT', message);
const tooLarge = (message: string, max: number) =>
  new TroupeError('PAYLOAD_TOO_LARGE', `${message}, ${max} are allowed`);
