/** Settings and notes that users add to one session, and the notification of entry points. */
import type { QueueMode, Verbosity } from './session.ts';
import { escapeToken } from './subjects.ts';

/**
 * To a session: settings that apply until its reset; null: the agent's setting. Reply: the
 * settings.
 */
export type SessionSet = {
  type: 'session.set';
  /** display name, at most 120 characters */
  label?: string | null;
  model?: string | null;
  thinking?: string | null;
  queue?: QueueMode | null;
  verbose?: Verbosity | null;
  reasoning?: boolean | null;
  /** lists omit the session unless requested; null and false undo it */
  archived?: boolean | null;
  /** lists show it first */
  pinned?: boolean | null;
  /** the group of the session, at most 120 characters */
  category?: string | null;
};

/**
 * To an idle session: adds a note to the transcript, outside any run. Reply: { injected: true };
 * CONFLICT during a run, because it would separate its calls from their results.
 */
export type SessionInject = {
  type: 'session.inject';
  /** 1 to INJECTED_CHARACTERS_MAX characters */
  text: string;
  /** source of the note, at most INJECTED_LABEL_CHARACTERS_MAX characters; precedes the text */
  label?: string;
  /** the role that models see: user or assistant; default assistant */
  role?: 'assistant' | 'user';
};
export const INJECTED_CHARACTERS_MAX = 65_536;
export const INJECTED_LABEL_CHARACTERS_MAX = 100;
/** `model` of the transcript entry of an assistant note. */
export const INJECTED_MODEL = 'gateway-injected';

/**
 * Topic on which an entry point publishes a change of a session that no run event reports.
 * Ephemeral; the row has the details.
 */
export type SessionNotice = {
  readonly sessionKey: string;
  /** create, patch, reset, compact, delete, inject, fork, import */
  readonly reason: string;
};
export const sessionNoticesTopic = (tenant: string) => `sessions.${escapeToken(tenant)}`;
