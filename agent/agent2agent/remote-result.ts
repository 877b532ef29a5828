/**
 * What a remote agent answers (A2A), as the result of a tool: its state in words, its texts, and
 * its files. Everything in it is foreign: limited, and without characters that control a terminal.
 *
 * Invariant: a result has at most TEXT_CHARACTERS_MAX characters and IMAGE_BYTES_IN_ALL_MAX bytes
 * of images, whatever the agent answers.
 */
import { type Artifact, type Message, type Part, Role, type Task, TaskState } from '@a2a-js/sdk';
import { plainName, plainText } from '../../protocols/plain-text.ts';
import type { RemoteResult } from '../../protocols/remote-call.ts';
import { fromOutside } from '../tools/web/net/outside.ts';
import { type FileStore, type KeptFiles, keepFiles } from './remote-files.ts';

const TEXT_CHARACTERS_MAX = 48_000;
const ID_CHARACTERS_MAX = 256;
const PARTS_MAX = 200;

export type ResultOptions = {
  readonly name: string;
  readonly files: FileStore;
  /** removes our credentials from foreign text */
  readonly masked: (text: string) => string;
};

export const isWorking = ({ status }: Task): boolean => {
  const state = status?.state ?? TaskState.TASK_STATE_UNSPECIFIED;
  return !(isInterrupted(state) || state in ENDED);
};

export const isInterrupted = (state: TaskState | undefined): boolean =>
  state === TaskState.TASK_STATE_INPUT_REQUIRED || state === TaskState.TASK_STATE_AUTH_REQUIRED;

/** The terminal states of A2A in our words; `isError`: the work was not done. */
const ENDED: Readonly<Partial<Record<TaskState, { text: string; isError: boolean }>>> = {
  [TaskState.TASK_STATE_COMPLETED]: { text: 'completed', isError: false },
  [TaskState.TASK_STATE_FAILED]: { text: 'failed', isError: true },
  [TaskState.TASK_STATE_CANCELED]: { text: 'cancelled by the agent', isError: true },
  [TaskState.TASK_STATE_REJECTED]: { text: 'refused by the agent', isError: true },
};

/** The state and the texts of a task that has ended, or that waits for its caller. */
export async function taskResult(task: Task, options: ResultOptions): Promise<RemoteResult> {
  const { status, artifacts, history } = task;
  const state = status?.state;
  const ended = state === undefined ? undefined : ENDED[state];
  const said = [...(status?.message?.parts ?? []), ...partsOf(artifacts)];
  const parts = said.length > 0 ? said : lastSaid(history);
  const head = ended ? [`The task has ${ended.text}.`] : [questionOf(task)];
  const contextId = idText(task.contextId);
  if (contextId !== undefined) head.push(`contextId for further messages: ${contextId}`);
  const kept = await keepFiles(parts.slice(0, PARTS_MAX), options.files);
  return resultOf({ head, parts, kept, isError: ended?.isError === true }, options);
}

/** An answer without a task. */
export async function messageResult(
  { parts, contextId }: Message,
  options: ResultOptions,
): Promise<RemoteResult> {
  const context = idText(contextId);
  const head = context === undefined ? [] : [`contextId for further messages: ${context}`];
  const kept = await keepFiles(parts.slice(0, PARTS_MAX), options.files);
  return resultOf({ head, parts, kept, isError: false }, options);
}

const KNOWN: ReadonlySet<TaskState> = new Set([
  TaskState.TASK_STATE_SUBMITTED,
  TaskState.TASK_STATE_WORKING,
]);

/** What a task does now, for operators. A state that is not known counts as working. */
export const statusText = (
  { status }: Task,
  { masked }: Pick<ResultOptions, 'masked'>,
): string | undefined => {
  const texts = (status?.message?.parts ?? []).flatMap(({ content }) =>
    content?.$case === 'text' ? [content.value] : [],
  );
  const text = plainName(masked(texts.join(' ').slice(0, 1_000)), 200);
  if (text !== '') return text;
  const isKnown = status !== undefined && KNOWN.has(status.state);
  return isKnown ? undefined : 'the agent reports a state that is not known';
};

/** An id of the agent, if it can be used. */
export const idText = (id: string): string | undefined =>
  id !== '' && id.length <= ID_CHARACTERS_MAX && !/^\.{1,2}$/.test(id) && plainText(id) === id
    ? id
    : undefined;

function questionOf({ id, status }: Task): string {
  const what =
    status?.state === TaskState.TASK_STATE_AUTH_REQUIRED
      ? 'The agent requires an authorization before it continues. Tell the user what it asks for; send no credentials.'
      : 'The agent needs an answer before it continues.';
  return `${what} To answer, call a2a_send with taskId: ${idText(id) ?? 'unknown'}`;
}

const partsOf = (artifacts: readonly Artifact[]): Part[] => artifacts.flatMap(({ parts }) => parts);

const lastSaid = (history: readonly Message[]): Part[] =>
  history.findLast(({ role }) => role === Role.ROLE_AGENT)?.parts ?? [];

type Content = {
  readonly head: readonly string[];
  readonly parts: readonly Part[];
  readonly kept: KeptFiles;
  readonly isError: boolean;
};

function resultOf(
  { head, parts, kept, isError }: Content,
  { name, masked }: ResultOptions,
): RemoteResult {
  const texts = parts.slice(0, PARTS_MAX).map((part) => kept.texts.get(part) ?? textOf(part));
  const more = parts.length - PARTS_MAX;
  if (more > 0) texts.push(`[${more} more parts are left out]`);
  if (kept.leftOut > 0) texts.push(`[${kept.leftOut} more files are left out]`);
  const text = [...head, '', ...texts.filter((one) => one !== '')].join('\n').trim();
  return {
    text: fromOutside(
      `the A2A agent ${name}`,
      bounded(cleanLines(masked(text).slice(0, 2 * TEXT_CHARACTERS_MAX))),
    ),
    ...(isError && { isError }),
    ...(kept.images.length > 0 && { images: kept.images }),
  };
}

/** Files are described by `keepFiles`. */
const textOf = ({ content }: Part): string => {
  if (content?.$case === 'text') return content.value.slice(0, TEXT_CHARACTERS_MAX + 1);
  if (content?.$case !== 'data') return '';
  return jsonText(content.value).slice(0, TEXT_CHARACTERS_MAX + 1);
};

const jsonText = (value: unknown): string => {
  try {
    return JSON.stringify(value) ?? '';
  } catch {
    return '[data that is nested too deeply]';
  }
};

const cleanLines = (text: string): string => text.split(/\r?\n/).map(plainText).join('\n');

const bounded = (text: string): string =>
  text.length <= TEXT_CHARACTERS_MAX
    ? text
    : `${text.slice(0, TEXT_CHARACTERS_MAX).replace(/[\ud800-\udbff]$/, '')}\n[cut: the agent answered more]`;
