/**
 * compact: shortens the context of a session: first notes go to the agent's daily log, then the
 * older part is replaced by a summary, written by the model, or by rule if no model can.
 *
 * `keyed`: a repeat requests the model again, which costs, and writes the log once, by the effect's
 * id.
 */
import { address, type Address } from '../../../protocols/address.ts';
import { errorData, TroupeError } from '../../../protocols/errors.ts';
import type { Usage } from '../../../protocols/session.ts';
import type { EffectContext, EffectDefinition } from '../../../runtime/index.ts';
import { messageOf, shownOf, summaryMessage } from '../../../agent/context/conversation.ts';
import { cutMiddle } from '../../../agent/context/cut.ts';
import { logNotes, type Notes } from '../../../agent/context/daily-log.ts';
import { type Kept, kept } from '../../../agent/context/keep.ts';
import * as words from '../../../agent/context/summary.ts';
import { messagesTokens, tokensOf } from '../../../agent/context/tokens.ts';
import type { HookAbout } from '../../../agent/hooks/hooks.ts';
import { confinementOf } from '../../../agent/policy/plan.ts';
import { servicesOf } from '../../../agent/services.ts';
import type { CompactInput, CompactOutput } from '../types.ts';
import { savedOf, TRIES_MAX } from './kept-workspace.ts';
import { entriesFrom } from './transcript.ts';
import { Writer } from './writer.ts';

const RESERVE_TOKENS_DEFAULT = 16_384;
/**
 * Shares of the context window: what remains unchanged, and the size of one request to the model.
 */
const KEPT_SHARE = 0.3;
const KEPT_TOKENS_MAX = 20_000;
const PIECE_SHARE = 0.6;
/** How often the pieces are halved when the model refuses them as too long. */
const HALVINGS_MAX = 3;
/** Maximum kept text of the user's message if the cut is within its turn, and of kept notes. */
const QUESTION_CHARACTERS_MAX = 20_000;
const NO_NOTES = 'NO_REPLY';
const ROOM_TOKENS_MIN = 1_000;

export const compact: EffectDefinition<CompactInput, CompactOutput> = {
  class: 'keyed',
  // the effect saves the workspace itself: a failed save must not block every conversation
  workspace: 'discard',
  placement: (input) => ({ workspacesOf: [ownerOf(input)] }),
  async run(input, context) {
    const { hooks } = servicesOf(context);
    const { tenant, agentId, sessionKey, runId } = input;
    const about: HookAbout = { tenant, agentId, sessionKey, ...(runId ? { runId } : {}) };
    const writer = new Writer(input, context);
    // the reserve of the call that was too long, at most half of a small window
    const reserve = Math.min(
      input.settings.reserveTokens ?? RESERVE_TOKENS_DEFAULT,
      Math.floor(writer.window / 2),
    );
    const room = Math.max(ROOM_TOKENS_MIN, writer.window - reserve);
    const before = await conversationAt(input, context, room);
    if (before.kept === undefined) return unchanged(before, input.from);
    await hooks.run(
      'before_compaction',
      { entries: before.kept.old.length, tokens: before.tokens },
      about,
    );
    const parts: Parts = { ...before, kept: before.kept, room };
    const notes = await notesOf(parts, input, context, writer);
    const summed = await summaryOf(parts, input, writer);
    // last, because earlier steps are repeated under another id when a run resumes
    const unwritten = notes === '' ? [] : await writeDown(notes, parts, input, context);
    const summary = [summed, ...questionOf(parts), ...unwritten].join('\n\n');
    const tokensAfter =
      before.kept.keptTokens + before.systemTokens + messagesTokens([summaryMessage(summary)]);
    await hooks.run('after_compaction', { summary, tokens: tokensAfter }, about);
    return {
      compacted: true,
      summary,
      keptFrom: before.kept.keptFrom,
      tokensBefore: before.tokens,
      tokensAfter,
      usage: writer.usage,
    };
  },
};

type Before = {
  readonly summary?: string;
  /** estimated, with the system prompt and without pruning */
  readonly tokens: number;
  readonly systemTokens: number;
  readonly kept?: Kept;
};
type Parts = Before & { readonly kept: Kept; readonly room: number };

const NO_USAGE: Usage = { inputTokens: 0, outputTokens: 0 };

const unchanged = ({ summary = '', tokens }: Before, from: number): CompactOutput => ({
  compacted: false,
  summary,
  keptFrom: from,
  tokensBefore: tokens,
  tokensAfter: tokens,
  usage: NO_USAGE,
});

/** The conversation that models see now, and the part that a compaction would keep. */
async function conversationAt(
  { from, runId }: CompactInput,
  context: EffectContext,
  room: number,
): Promise<Before> {
  const { system, summary, entries } = shownOf(await entriesFrom(context.transcript(), from));
  const said = messagesTokens(entries.flatMap(({ entry }) => messageOf(entry)));
  const first = summary === undefined ? 0 : messagesTokens([summaryMessage(summary)]);
  const systemTokens = tokensOf(system);
  const keep = kept(entries, {
    // less than the limit, because the estimate may be wrong: the model already refused the length
    keepTokens: runId === '' ? 0 : Math.min(KEPT_TOKENS_MAX, KEPT_SHARE * Math.min(room, said)),
    turnTokensMax: runId === '' ? Infinity : room / 2,
  });
  return {
    ...(summary === undefined ? {} : { summary }),
    tokens: systemTokens + first + said,
    systemTokens,
    ...(keep ? { kept: keep } : {}),
  };
}

// ---- the summary

/** Characters of one part. A part larger than the model's window would be summarized endlessly. */
const partMax = ({ room }: Parts, most: number): number => Math.min(most, Math.floor(room / 2));

/** Piece by piece, each with the summary so far; smaller pieces when they are too long. */
async function summaryOf(parts: Parts, input: CompactInput, writer: Writer): Promise<string> {
  const { room, summary: previous } = parts;
  const entries = parts.kept.old.map(({ entry }) => entry);
  const lines = words.linesOf(entries);
  const request = words.summaryRequest(input.instructions);
  const most = partMax(parts, words.SUMMARY_CHARACTERS_MAX);
  const byRule = () => cutMiddle(words.mechanicalSummary(previous, entries), most);
  for (let halving = 0; halving <= HALVINGS_MAX; halving++) {
    const pieceTokens = Math.floor((room * PIECE_SHARE) / 2 ** halving);
    try {
      let summary = previous;
      for (const piece of words.piecesOf(lines, pieceTokens)) {
        const material =
          summary === undefined ? piece : `${words.previousText(summary, most)}\n\n${piece}`;
        summary = await writer.write(words.SUMMARY_SYSTEM, material, request);
        if (summary === '') return byRule();
      }
      return cutMiddle(summary ?? '', most);
    } catch (error) {
      if (!mayBeShortened(error)) break;
    }
  }
  return byRule();
}

/** @throws retriable errors, so that the effect or the run retries */
function mayBeShortened(error: unknown): boolean {
  if (!(error instanceof TroupeError)) throw error;
  if (error.code === 'PAYLOAD_TOO_LARGE' || error.details?.['reason'] === 'context_length')
    return true;
  if (PASSING.has(error.code)) throw error;
  return false;
}

const PASSING: ReadonlySet<string> = new Set([
  'UNAVAILABLE',
  'RATE_LIMIT_EXCEEDED',
  'DEADLINE_EXCEEDED',
  'CANCELLED',
]);

function questionOf(parts: Parts): string[] {
  const { question } = parts.kept;
  if (question === undefined) return [];
  const text = cutMiddle(question, partMax(parts, QUESTION_CHARACTERS_MAX));
  return [`The message that is being worked on:\n${text}`];
}

// ---- the daily log

/** The actor whose workspace contains the daily log. */
const ownerOf = ({ workspace, tenant, agentId }: CompactInput): Address =>
  workspace ?? address(tenant, 'agent', agentId);

/** '' if there is nothing to note, or the session may not write to the workspace. */
async function notesOf(
  { kept: { old }, room }: Parts,
  input: CompactInput,
  context: EffectContext,
  writer: Writer,
): Promise<string> {
  const { workspaceAccess } = confinementOf(input.settings, input.sessionKey);
  if (workspaceAccess !== 'rw' || (await context.peek(ownerOf(input), [])) === undefined) return '';
  const lines = words.linesOf(old.map(({ entry }) => entry));
  const newest = words.piecesOf(lines, Math.floor(room * PIECE_SHARE)).at(-1) ?? '';
  const text = await writer
    .write(words.NOTES_SYSTEM, newest, words.NOTES_REQUEST)
    .catch((error: unknown) => (mayBeShortened(error), ''));
  return text.includes(NO_NOTES) ? '' : text;
}

/**
 * Writes the notes to the daily log; returns whether it worked. If another worker saves the
 * workspace in the meantime, they are written again to that version.
 */
async function isWritten(
  notes: Notes,
  input: CompactInput,
  context: EffectContext,
): Promise<boolean> {
  for (let tried = 1; ; tried++) {
    const workspace = await context.workspace(ownerOf(input));
    try {
      return (await logNotes(workspace.path, notes)) && (await savedOf(workspace)).saved;
    } catch (error) {
      if (errorData(error).code !== 'CONFLICT' || tried === TRIES_MAX) throw error;
      await workspace.close();
    }
  }
}

/** Writes the notes to the daily log. If that fails, the summary contains them. */
async function writeDown(
  text: string,
  parts: Parts,
  input: CompactInput,
  context: EffectContext,
): Promise<string[]> {
  const { sessionKey } = input;
  const notes = { id: context.id, sessionKey, text, at: context.now() };
  if (await isWritten(notes, input, context)) return [];
  const cut = cutMiddle(text, partMax(parts, QUESTION_CHARACTERS_MAX));
  return [`Notes that could not be written to memory/:\n${cut}`];
}
