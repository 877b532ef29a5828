/**
 * Spawn: a call of the run requests a subagent. Pure.
 *
 * Invariants: all limits are checked in one turn, and the grant is subtracted in the same one, so
 * concurrent spawns cannot exceed a limit. The same call repeated starts nothing. A refusal changes
 * nothing except its row, and names the limit and its value.
 */
import { sessionKey as keys } from '../../../protocols/session-key.ts';
import type { Project, Reply, Tell } from '../../../protocols/statechart.ts';
import type { Delivered } from '../../../protocols/statechart.ts';
import {
  GRANT_TOKENS_MIN,
  type SessionSpawn,
  SPAWNS_WAITING_MAX,
  type SpawnResult,
  subagentAddress,
  subagentRunId,
  type SubagentReserve,
  type SubagentRow,
  subagentRowKey,
  SUBAGENTS_INDEX,
} from '../../../protocols/subagent.ts';
import type { Lineage, LineageLimits } from '../../../protocols/lineage.ts';
import type { PendingCall, Awaited, BudgetLedger, Child, Spawned } from './related-sessions.ts';
import { ledgerOf, type Grant, leftOf, taken } from './budget-ledger.ts';
import { acceptedOf, freeLateSlots, assignSlots, toSubagent, hasSlot } from './children.ts';
import { type ActionResult, defined, on, runOf, withRun } from '../action-result.ts';
import { firstOf } from '../../kit/text.ts';
import { nextHop } from '../conversations/lineage.ts';
import { workspaceOf } from './subagent-limits.ts';
import type { SessionContext } from '../types.ts';
import { isActiveRun } from '../conversations/conversation-waits.ts';

const REFUSED_ROW_MS = 3_600_000;
const PREVIEW_CHARACTERS = 120;
const MESSAGES_MAX = 200;
/** Smallest useful grant: about the cost of one model call. */
const GRANT_USD_MIN = 0.001;

type Asked = Delivered<SessionSpawn>;
type SpawnRefusal = { readonly rule: string; readonly why: string };

export const spawn = on('session.spawn', ({ context, event: asked }): ActionResult => {
  if (!isActiveRun(context, asked.runId)) return { answer: refusal(asked, ENDED) };
  const known = (runOf(context).spawned ?? []).find(({ id }) => id === asked.id);
  if (known) return again(context, asked, known);
  const now = asked.meta.now;
  const children = freeLateSlots(context.children ?? [], now);
  const books = ledgerOf(context, asked.limits);
  const no = refusalOf({ ...context, children }, asked, books);
  if (no) return { rows: [refusedRow(context, asked, no)], answer: refusal(asked, no) };
  return granted({ ...context, children }, asked, books);
});

// ---- refusals

const ENDED: SpawnRefusal = { rule: 'run-ended', why: 'the run that asked has ended' };

/** The first limit that the spawn would exceed, in a fixed order. */
function refusalOf(
  context: SessionContext,
  asked: Asked,
  books: BudgetLedger,
): SpawnRefusal | undefined {
  const { limits, terms } = asked;
  const left = leftOf(context, books);
  const { children = [] } = context;
  const isFull = children.filter(hasSlot).length >= limits.concurrentMax;
  const waiting = children.filter(({ going }) => !going).length;
  const rules: readonly (readonly [boolean, string, string])[] = [
    [
      context.isOver === true,
      'ended',
      'the subagent of this session has ended, and the rest of its grant has returned',
    ],
    [
      depthOf(context) + 1 > limits.depthMax,
      'depth',
      `an agent at depth ${depthOf(context)} may start no subagents: the limit is depth ${limits.depthMax} (agents.spawnDefaults.maxSpawnDepth)`,
    ],
    [
      hopOf(context, asked).hops > limits.hopsMax,
      'hops',
      `it would be more than ${limits.hopsMax} messages and spawns away from a user's message (session.agentToAgent.maxHops)`,
    ],
    [
      books.started >= limits.perSessionMax,
      'perSession',
      `this session has started ${books.started} subagents, which is the limit (agents.spawnDefaults.maxSpawnsPerSession)`,
    ],
    [
      left.spawns < 1,
      'perTree',
      `all ${context.terms?.spawns ?? limits.perTreeMax} subagents that one user message may start were used or reserved (agents.spawnDefaults.maxSpawnsPerTree)`,
    ],
    [
      isFull && waiting >= SPAWNS_WAITING_MAX,
      'waiting',
      `${limits.concurrentMax} subagents are running (agents.spawnDefaults.maxConcurrentSpawns) and ${SPAWNS_WAITING_MAX} wait, which is the limit; wait for results`,
    ],
    [
      Math.min(left.tokens, terms.tokens) < GRANT_TOKENS_MIN,
      'tokens',
      `${Math.max(0, left.tokens)} tokens are left for subagents, and a subagent needs at least ${GRANT_TOKENS_MIN} (agents.spawnDefaults.maxTokensPerTree)`,
    ],
    [
      left.costUsd < GRANT_USD_MIN,
      'cost',
      `$${Math.max(0, left.costUsd).toFixed(4)} are left for subagents, and a subagent needs at least $${GRANT_USD_MIN} (agents.spawnDefaults.maxCostPerTreeUsd)`,
    ],
  ];
  const found = rules.find(([isPast]) => isPast);
  return found && { rule: found[1], why: `no subagent was started: ${found[2]}` };
}

const refusal = ({ meta }: Asked, { rule, why }: SpawnRefusal): Reply => {
  const result: SpawnResult = { status: 'refused', rule, error: why };
  return { to: meta.reply, result };
};

function refusedRow(context: SessionContext, asked: Asked, { why }: SpawnRefusal): Project {
  const { id, runId, terms, task, label, meta } = asked;
  const { sessionKey } = context;
  const row: SubagentRow = {
    id,
    sessionKey: keys.subagent(terms.agentId, id),
    runId: subagentRunId(id),
    agentId: terms.agentId,
    parent: sessionKey,
    parentRunId: runId,
    root: context.terms?.root ?? sessionKey,
    depth: depthOf(context) + 1,
    status: 'refused',
    reason: why,
    ...defined({ label }),
    task: firstOf(task, PREVIEW_CHARACTERS),
    tokens: 0,
    createdAt: meta.now,
    endedAt: meta.now,
    reported: 'waited',
  };
  const key = subagentRowKey(sessionKey, id);
  return { index: SUBAGENTS_INDEX, key, value: row, keepMs: REFUSED_ROW_MS };
}

// ---- grants

const depthOf = ({ terms }: SessionContext): number => terms?.depth ?? 1;

const limitsOf = ({ limits: { hopsMax, messagesMax = MESSAGES_MAX } }: Asked): LineageLimits => ({
  hopsMax,
  messagesMax,
});

/** Half of the run's messages: those of the subagent and of the run that reads its report. */
const hopOf = (context: SessionContext, asked: Asked): Lineage =>
  nextHop(runOf(context).lineage, context.sessionKey, limitsOf(asked));

/** The requested amount, as far as available. Without a request half of the money remains. */
function grantOf(context: SessionContext, { terms, limits }: Asked, books: BudgetLedger): Grant {
  const left = leftOf(context, books);
  const maySpawn = depthOf(context) + 2 <= limits.depthMax;
  const cost =
    books.costUsd === undefined
      ? terms.costUsd
      : Math.min(terms.costUsd ?? Math.max(GRANT_USD_MIN, left.costUsd / 2), left.costUsd);
  return {
    tokens: Math.min(terms.tokens, left.tokens),
    ...defined({ costUsd: cost }),
    spawns: maySpawn ? Math.floor((left.spawns - 1) / 4) : 0,
  };
}

function granted(context: SessionContext, asked: Asked, books: BudgetLedger): ActionResult {
  const { id, runId, callId, wait, reportBack, terms, meta } = asked;
  const { children = [] } = context;
  const run = runOf(context);
  const grant = grantOf(context, asked, books);
  const given = hopOf(context, asked);
  const [ofReport, ofChild] = [Math.ceil(given.left / 2), Math.floor(given.left / 2)];
  const lineage = { ...given, hops: given.hops + 1, left: ofReport };
  const before = run.lineage ?? { hops: 0, visited: [], left: limitsOf(asked).messagesMax };
  const waiting: Child = {
    id,
    sessionKey: keys.subagent(terms.agentId, id),
    runId,
    going: false,
    reportBack: reportBack || wait || context.terms !== undefined,
    ...grant,
    lineage,
    ...(wait ? { wait: askingOf(asked) } : {}),
    timeoutMs: terms.timeoutMs,
  };
  const spawned: Spawned = { id, callId, tokens: grant.tokens, lineage };
  // subagents that wait longer receive free slots first
  const places = { places: asked.limits.concurrentMax, now: meta.now };
  const next = assignSlots(context, [...children, waiting], places);
  const hold = !next.children.at(-1)!.going;
  const others = next.tells.filter(({ to }) => to !== subagentAddress(context.tenant, id));
  return {
    change: {
      books: taken(books, grant),
      children: next.children,
      ...withRun(context, {
        lineage: { ...before, left: before.left - given.left },
        spawned: [...(run.spawned ?? []), spawned],
      }),
    },
    tells: [
      reserve(context, asked, { grant, hold, lineage: { ...given, left: ofChild } }),
      ...others,
    ],
    ...(wait ? {} : { answer: accepted(asked, grant.tokens, !hold) }),
  };
}

const askingOf = ({ callId, meta }: Asked): PendingCall => ({ reply: meta.reply ?? null, callId });

function reserve(
  context: SessionContext,
  { id, runId, task, label, terms, reportBack }: Asked,
  { grant, hold, lineage }: { grant: Grant; hold: boolean; lineage: Lineage },
): Tell {
  const { sessionKey, tenant } = context;
  const event: SubagentReserve = {
    type: 'subagent.reserve',
    parentRunId: runId,
    task,
    ...defined({ label }),
    terms: {
      ...terms,
      ...grant,
      // a session confined to its own workspace starts no subagent outside of it
      ...(terms.isolated ? {} : defined({ workspace: workspaceOf(context) })),
      parent: sessionKey,
      root: context.terms?.root ?? sessionKey,
      depth: depthOf(context) + 1,
    },
    lineage,
    reportBack,
    hold,
  };
  return { to: subagentAddress(tenant, id), event };
}

const accepted = ({ id, terms, meta }: Asked, tokens: number, going: boolean): Reply => ({
  to: meta.reply,
  result: acceptedOf({ id, sessionKey: keys.subagent(terms.agentId, id), tokens, going }),
});

// ---- repeated calls

/** The call is repeated after its worker died: it receives the answer of the first attempt. */
function again(context: SessionContext, asked: Asked, known: Spawned): ActionResult {
  const { children = [], awaited = [] } = context;
  const child = children.find(({ id }) => id === asked.id);
  if (!asked.wait) return { answer: accepted(asked, known.tokens, child?.going ?? true) };
  const wait = askingOf(asked);
  if (child)
    return {
      change: { children: children.map((one) => (one === child ? { ...one, wait } : one)) },
    };
  const { id, lineage } = known;
  const isAsked = awaited.some((one) => one.id === id);
  const entry: Awaited = { id, lineage, wait };
  return {
    change: { awaited: [...awaited.filter((one) => one.id !== id), entry] },
    tells: isAsked ? [] : [toSubagent(context, id, { type: 'subagent.report' })],
  };
}
