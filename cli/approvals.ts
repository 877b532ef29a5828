/** `troupe approvals`: what waits for a person, and a person's answer (EN13). */
import type { ApprovalRow } from '../protocols/approval.ts';
import { exitCodes } from './exit.ts';
import { gatewayHttp } from './gateway-http.ts';
import type { ClientOptions } from './options.ts';
import { ago, printJson, table } from './output.ts';

type OfTenant = ClientOptions & { readonly tenant?: string };
export type ApprovalsOptions = OfTenant & { readonly state: string };
export type AnswerOptions = OfTenant & { readonly why: string };

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
    const head = ['approval', 'state', 'asked', 'options', 'title'];
    process.stdout.write(table(head, approvals.map(cells)));
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
    body: { decision, why: options.why },
  });
  if (options.json) printJson(row);
  else process.stdout.write(`${row.id} is ${row.state}: ${row.decision} by ${row.decided_by}\n`);
  return exitCodes.ok;
}

const queryOf = ({ tenant }: OfTenant, more: Record<string, string> = {}): string =>
  new URLSearchParams({ ...more, ...(tenant === undefined ? {} : { tenant }) }).toString();

const cells = ({ id, state, asked_at, options, title }: ApprovalRow): string[] => [
  id,
  state,
  ago(Date.now() - Date.parse(asked_at)),
  options.map(({ name }) => name).join(', '),
  title,
];

const indented = (text: string): string => text.replaceAll(/^/gm, '  ');
