/** The events that a document can receive, and the invariants that hold on every path. */
import { documentMachine } from '../../../actors/document/machine.ts';
import {
  HISTORY_MAX,
  type DocumentContext,
  SETTLED_MAX,
} from '../../../actors/document/versions.ts';
import {
  documentAddress,
  type DocumentRow,
  contentHashOf,
  DOCUMENT_CHARACTERS_MAX,
} from '../../../protocols/document.ts';
import type { Message, Project, Reply } from '../../../protocols/statechart.ts';
import {
  demand,
  type Exploration,
  type Happened,
  type Move,
  requestsOf,
} from '../../charts/coverage.ts';

/** An independent record of every content and of the replies to each task. */
class Contents {
  contents: readonly (string | null)[] = [null];
  answers: ReadonlyMap<string, string> = new Map();

  copy(): Contents {
    return Object.assign(new Contents(), this);
  }

  take({ cause, step }: Happened): void {
    const event = cause.event as Message & { task_id?: string };
    const context = step.live.snapshot.context as DocumentContext;
    for (const { value } of requestsOf<Project>(step.requests, 'project')) {
      const { version, content, content_hash } = value as DocumentRow;
      demand(version, 'each version number is used once').toBe(this.contents.length);
      demand(content_hash).toBe(content === null ? null : contentHashOf(content));
      this.contents = [...this.contents, content];
      if (event.type === 'agent_data.restore_document')
        demand(content, 'the previous content').toBe(this.contents.at(-3));
    }
    demand(context.now.content).toBe(this.contents.at(-1));
    demand(step.live.snapshot.value).toBe(context.now.content === null ? 'absent' : 'present');
    demand(context.history.length).toBeLessThanOrEqual(HISTORY_MAX);
    demand(context.settled.length).toBeLessThanOrEqual(SETTLED_MAX);
    if (event.type.startsWith('agent_data.')) this.#answer(event, step.requests);
  }

  #answer(
    { type, task_id }: Message & { task_id?: string },
    requests: Happened['step']['requests'],
  ): void {
    const replies = requestsOf<Reply>(requests, 'reply');
    demand(replies).toHaveLength(1);
    const { result, error } = replies[0]!;
    if (error || type === 'agent_data.read_document') return;
    const before = this.answers.get(task_id!);
    const now = JSON.stringify(result);
    if (before) demand(now, 'a repeat receives the same answer').toBe(before);
    this.answers = new Map(this.answers).set(task_id!, now);
  }
}

const message = (name: string, type: string, fields: Record<string, unknown>): Move => ({
  name,
  event: { type: `agent_data.${type}_document`, document_id: 'd1', ...fields },
});
const undo = (task: string): Move =>
  message(`undo ${task}`, 'restore', { update_task_id: task, task_id: `undo-${task}` });

const moves: Move[] = [
  message('write a', 'update', { content: 'a', task_id: 'ta' }),
  message('write b', 'update', { content: 'b', task_id: 'tb' }),
  message('write c on 1', 'update', { content: 'c', expected_version: 1, task_id: 'tc' }),
  message('write too much', 'update', {
    content: 'x'.repeat(DOCUMENT_CHARACTERS_MAX + 1),
    task_id: 'td',
  }),
  message('read', 'read', { task_id: 'tr' }),
  undo('ta'),
  undo('tb'),
];

export const exploration: Exploration = {
  machine: documentMachine,
  self: documentAddress('default', 'd1'),
  moves: () => moves,
  key: ({ snapshot }) => {
    const { now, settled } = snapshot.context as DocumentContext;
    return [snapshot.value, now.content, now.version, settled.map(({ taskId }) => taskId)];
  },
  ledger: () => new Contents(),
};
