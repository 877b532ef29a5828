/** `troupe approvals`: what waits for a person, and a person's answer (EN13). */
import type { ApprovalRow } from '../protocols/approval.ts';
import { defined } from '../protocols/defined.ts';
import { exitCodes } from './exit.ts';
import { gatewayHttp } from './gateway-http.ts';
import type { ClientOptions } from './options.ts';
import { ago, table } from '../operations/text.ts';
import { printJson } from './output.ts';

type OfTenant = ClientOptions & { readonly tenant?: string };
export type ApprovalsOptions = OfTenant & { readonly state: string };
export type AnswerOptions = OfTenant & { readonly why?: string };

export async function list(options: ApprovalsOptions): Promise<number> {
  const http = await gatewayHttp(options);
  const listed = await http<{ approvals: readonly ApprovalRow[] }>({
    method: 'GET',
    path: `/v1/approvals?${queryOf(options, { state: options.state })}`,
  });
  const { approvals } = listed;
  if (options.json) printJson(listed);
  else if (approvals.length === 0) process.stdout.write('nothing waits for a person\n');
  else {
    const head = ['approval', 'state', 'asked', 'until', 'by', 'answers', 'title'];
    const now = Date.now();
    process.stdout.write(
      table(
        head,
        approvals.map((row) => cells(row, now)),
      ),
    );
    for (const { id, detail } of approvals)
      if (detail) process.stdout.write(`\n${id}\n${indented(detail)}\n`);
  }
  return exitCodes.ok;
}

export async function answer(
  id: string,
  decision: string,
  options: AnswerOptions,
): Promise<number> {
  const http = await gatewayHttp(options);
  const row = await http<ApprovalRow>({
    method: 'POST',
    path: `/v1/approvals/${encodeURIComponent(id)}?${queryOf(options)}`,
    body: { decision, ...defined({ why: options.why }) },
  });
  if (options.json) printJson(row);
  else process.stdout.write(`${row.id} is ${row.state}: ${row.decision} by ${row.decided_by}\n`);
  return exitCodes.ok;
}

const queryOf = ({ tenant }: OfTenant, more: Record<string, string> = {}): string =>
  new URLSearchParams({ ...more, ...defined({ tenant }) }).toString();

const cells = (row: ApprovalRow, now: number): string[] => [
  row.id,
  row.state,
  `${ago(now - Date.parse(row.asked_at))} ago`,
  row.state === 'asked' ? `in ${ago(Date.parse(row.expires_at) - now)}` : '',
  askerOf(row),
  row.state === 'asked' ? row.options.map(({ name }) => name).join(', ') : decisionOf(row),
  row.title.replaceAll(/\s+/g, ' '),
];

/** An actor by its type and key: `session agent:main:main`; a person as the door knows them. */
function askerOf({ by }: ApprovalRow): string {
  const [, type, ...key] = by.split('/');
  return type === undefined ? by : `${type} ${key.join('/')}`;
}

const decisionOf = ({ decision, decided_by }: ApprovalRow): string =>
  decision === undefined ? '' : `${decision} by ${decided_by}`;

const indented = (text: string): string => text.replaceAll(/^/gm, '  ');
