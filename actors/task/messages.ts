/**
 * Messages: what the caller of a task and the task have said, for a task that an A2A client has
 * created. Pure.
 *
 * Invariant: the messages of a task have at most CHARACTERS_IN_ALL_MAX characters of JSON.
 */
import type { TaskMessage } from '../../protocols/agent2agent.ts';
import type { Delivered } from '../../protocols/statechart.ts';
import type { TaskInput, TaskSubmit, TaskView } from '../../protocols/task.ts';
import { inputDigest, type TaskAnswer } from '../../protocols/task-input.ts';
import { timeOf } from './view.ts';

/** A larger message is left out; characters of JSON. */
const CHARACTERS_MAX = 65_536;
/** The oldest ones are dropped. */
const CHARACTERS_IN_ALL_MAX = 131_072;

type Messages = readonly TaskMessage[] | undefined;

/** Undefined for a task that has no history. */
export const requested = ({ envelope, terms, agentId, meta }: Delivered<TaskSubmit>): Messages => {
  if (agentId === undefined || terms.sensitive) return undefined;
  const { idempotency_key: id, payload } = envelope;
  return [bounded({ kind: 'request', id, at: timeOf(meta.now), payload })];
};

/** With the question, and the input that answers it. */
export function answeredWith(
  messages: Messages,
  { waiting, events }: TaskView,
  { input, message_id, meta }: Delivered<TaskInput>,
): Messages {
  if (messages === undefined) return undefined;
  const question: readonly TaskMessage[] = waiting
    ? [bounded({ kind: 'question', id: String(events.length), at: waiting.since, waiting })]
    : [];
  const answer = bounded({
    kind: 'input',
    id: message_id ?? meta.id,
    at: timeOf(meta.now),
    input,
  });
  return newest([...messages, ...question, answer]);
}

/** A task has few inputs (INPUTS_MAX), so all are kept. */
export const answersWith = (
  answers: readonly TaskAnswer[] | undefined,
  { input, message_id }: Delivered<TaskInput>,
): readonly TaskAnswer[] | undefined =>
  message_id === undefined
    ? answers
    : [...(answers ?? []), { message_id, digest: inputDigest(input) }];

const bounded = (message: TaskMessage): TaskMessage =>
  JSON.stringify(message).length <= CHARACTERS_MAX
    ? message
    : { kind: 'left out', id: message.id, at: message.at };

function newest(messages: readonly TaskMessage[]): Messages {
  const sizes = messages.map((message) => JSON.stringify(message).length);
  let size = sizes.reduce((sum, one) => sum + one, 0);
  let from = 0;
  for (; size > CHARACTERS_IN_ALL_MAX; from++) size -= sizes[from]!;
  return messages.slice(from);
}
