/**
 * What people set for one session and put into it from outside, and how doors tell each other that
 * they did.
 */
import type { QueueMode, Verbosity } from './session.ts';
import { escapeToken } from './subjects.ts';

/** To a session: settings of its own, until its reset; null: as the agent has it. Answer: them. */
export type SessionSet = {
  type: 'session.set';
  /** what people and agents call it, at most 120 characters */
  label?: string | null;
  model?: string | null;
  thinking?: string | null;
  queue?: QueueMode | null;
  verbose?: Verbosity | null;
  reasoning?: boolean | null;
  /** lists leave it out unless they are asked for it; null and false take it back */
  archived?: boolean | null;
  /** lists show it first */
  pinned?: boolean | null;
  /** the group that people put it into, at most 120 characters */
  category?: string | null;
};

/**
 * To a session that is idle: a note is added to the transcript, under no run. Answer:
 * { injected: true }; CONFLICT while a run goes, whose calls and results it would tear apart.
 */
export type SessionInject = {
  type: 'session.inject';
  /** 1 to INJECTED_CHARACTERS_MAX characters */
  text: string;
  /** where it is from, at most INJECTED_LABEL_CHARACTERS_MAX characters; stands before it */
  label?: string;
  /** whose words models take it for: what was said to people, or to the agent; default assistant */
  role?: 'assistant' | 'user';
};
export const INJECTED_CHARACTERS_MAX = 65_536;
export const INJECTED_LABEL_CHARACTERS_MAX = 100;
/** `model` of the entry of a note that is the assistant's. */
export const INJECTED_MODEL = 'gateway-injected';

/**
 * Doors tell each other on this topic that they changed something of a session that no run event
 * tells; ephemeral, the row says what is.
 */
export type SessionNotice = {
  readonly sessionKey: string;
  /** create, patch, reset, compact, delete, inject */
  readonly reason: string;
};
export const sessionNoticesTopic = (tenant: string) => `sessions.${escapeToken(tenant)}`;
