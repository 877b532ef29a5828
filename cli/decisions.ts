/** `troupe decisions`: tasks that go on only by a person's word, and that word (EN7, EN8). */
import { defined } from '../protocols/defined.ts';
import type { TaskView } from '../protocols/task.ts';
import { exitCodes } from './exit.ts';
import { gatewayHttp } from './gateway-http.ts';
import type { ClientOptions } from './options.ts';
import { ago, table } from '../operations/text.ts';
import { printJson } from './output.ts';

export type DecisionsOptions = ClientOptions & { readonly tenant?: string };
export type DecideOptions = DecisionsOptions & {
  readonly why: string;
  /** JSON */
  readonly result?: unknown;
};

export async function list(options: DecisionsOptions): Promise<number> {
  const http = await gatewayHttp(options);
  const listed = await http<{ tasks: readonly TaskView[] }>({
    method: 'GET',
    path: `/v1/decisions${queryOf(options)}`,
  });
  const { tasks } = listed;
  if (options.json) printJson(listed);
  else if (tasks.length === 0) process.stdout.write('no task waits for a decision\n');
  else {
    process.stdout.write(table(['task', 'state', 'waits', 'action'], tasks.map(cells)));
    for (const { task_id, waiting } of tasks)
      process.stdout.write(`\n${task_id}\n  ${waiting?.prompt ?? ''}\n`);
  }
  return exitCodes.ok;
}

export async function decide(
  taskId: string,
  decision: string,
  options: DecideOptions,
): Promise<number> {
  const http = await gatewayHttp(options);
  const { why, result } = options;
  const view = await http<TaskView>({
    method: 'POST',
    path: `/v1/decisions/${encodeURIComponent(taskId)}${queryOf(options)}`,
    body: { decision, why, ...defined({ result }) },
  });
  if (options.json) printJson(view);
  else process.stdout.write(`${view.task_id} is ${view.state}\n`);
  return exitCodes.ok;
}

const queryOf = ({ tenant }: DecisionsOptions): string =>
  tenant === undefined ? '' : `?tenant=${encodeURIComponent(tenant)}`;

const cells = ({ task_id, state, waiting, action }: TaskView): string[] => [
  task_id,
  state,
  waiting ? ago(Date.now() - Date.parse(waiting.since)) : '',
  action,
];
