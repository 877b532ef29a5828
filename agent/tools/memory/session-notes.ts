/**
 * SessionNotes: the messages of an agent's sessions, as notes that are searched. Each session is
 * one file: a heading for each message, then its text. Prompts, reasoning and results of tools are
 * no part of it.
 *
 * Boundary: one index serves all sessions of the agent, so all of them are listed. What a caller
 * may find or read of them, `readable` decides.
 */
import type { MemoryFiles, NoteFile } from '../../../memory/index.ts';
import { NOTE_BYTES_MAX } from '../../../memory/index.ts';
import { address } from '../../../protocols/address.ts';
import type { SessionEntry, SessionRow } from '../../../protocols/session.ts';
import { judge } from '../../policy/talk.ts';
import { talkerOf } from '../sessions/repeatable-ask.ts';
import { backwards } from '../sessions/session-messages.ts';
import { isoOf } from '../sessions/session-view.ts';
import { maskedLines } from './masked-note.ts';
import type { ToolContext } from '../tool.ts';

/** The newest ones are searched. */
const SESSIONS_MAX = 500;
/** Of the end of a session; older messages are not searched. */
const CHARACTERS_MAX = NOTE_BYTES_MAX / 4;

const LOOKED_AT = ['sessionKey', 'agentId', 'messages', 'updatedAt'] as const;
type LookedAt = Pick<SessionRow, (typeof LOOKED_AT)[number]>;

export class SessionNotes implements MemoryFiles {
  readonly #context: ToolContext;

  constructor(context: ToolContext) {
    this.#context = context;
  }

  async list(): Promise<readonly NoteFile[]> {
    const { agentId, system, tenant } = this.#context;
    const found: LookedAt[] = [];
    const index = await system.index();
    await index.scan<SessionRow, (typeof LOOKED_AT)[number]>(
      'sessions',
      tenant,
      { fields: LOOKED_AT },
      (row) => {
        if (row.agentId === agentId) found.push(row);
      },
    );
    return found
      .toSorted((a, b) => b.updatedAt - a.updatedAt)
      .slice(0, SESSIONS_MAX)
      .map(({ sessionKey, messages, updatedAt }) => ({
        path: sessionKey,
        stamp: `${messages} ${updatedAt}`,
        bytes: 0,
      }));
  }

  /**
   * Whether the caller may read a session: as `sessions_history` decides, but not its own one,
   * which the model has already.
   */
  async readable(): Promise<(sessionKey: string) => boolean> {
    const { agentId, system, talk, tenant, sessionKey: own } = this.#context;
    const who = talkerOf(this.#context);
    const index = await system.index();
    return (sessionKey) => {
      const row = index.get<SessionRow>('sessions', tenant, sessionKey);
      if (row === undefined || row.agentId !== agentId || sessionKey === own) return false;
      const verdict = judge(talk, who, row, 'history');
      return verdict.allowed && verdict.level === 'full';
    };
  }

  async read(sessionKey: string): Promise<string | undefined> {
    const { secrets, system, tenant } = this.#context;
    const messages: string[] = [];
    let characters = 0;
    for await (const entry of backwards(
      system.transcript(address(tenant, 'session', sessionKey)),
    )) {
      const text = textOf(entry);
      if (text === undefined) continue;
      const part = text.slice(0, CHARACTERS_MAX - characters);
      characters += part.length;
      messages.push(part);
      if (characters === CHARACTERS_MAX) break;
    }
    return maskedLines(messages.reverse().join('\n'), secrets);
  }
}

function textOf(entry: SessionEntry): string | undefined {
  if (entry.type !== 'user' && entry.type !== 'assistant') return undefined;
  if (entry.text.trim() === '') return undefined;
  return `## ${entry.type}, ${isoOf(entry.at)}\n\n${entry.text.trim()}\n`;
}
