/** `troupe sessions`: lists sessions, newest first, and deletes one. */
import { defined } from '../protocols/defined.ts';
import type { SessionsListRow } from '../protocols/gateway/index.ts';
import { exitCodes } from './exit.ts';
import { type ClientOptions, withGateway } from './options.ts';
import { ago, table } from '../operations/text.ts';
import { printJson } from './output.ts';

export type SessionsOptions = ClientOptions & {
  readonly agent?: string;
  readonly limit?: number;
};

export async function sessions(options: SessionsOptions): Promise<number> {
  const result = await withGateway(options, (client) =>
    client.request('sessions.list', {
      includeLastMessage: true,
      ...defined({ agentId: options.agent, limit: options.limit }),
    }),
  );
  if (options.json) printJson(result);
  else if (result.sessions.length === 0) {
    process.stdout.write('no sessions; `troupe chat` starts one\n');
  } else {
    const rows = result.sessions.map((row) => cells(row, result.ts));
    process.stdout.write(
      table(['session', 'status', 'active', 'model', 'tokens', 'last message'], rows),
    );
  }
  return exitCodes.ok;
}

export type SessionDeleteOptions = ClientOptions & {
  readonly orphans?: 'cascade' | 'adopt' | 'detach';
};

export async function deleteSession(key: string, options: SessionDeleteOptions): Promise<number> {
  const { orphans } = options;
  const result = await withGateway(options, (client) =>
    client.request('sessions.delete', { key, ...defined({ orphans }) }),
  );
  if (options.json) printJson(result);
  else if (result.deleted)
    process.stdout.write(`${result.key} is deleted; its transcript is kept\n`);
  else process.stdout.write(`session ${result.key} does not exist: nothing to delete\n`);
  return exitCodes.ok;
}

function cells(row: SessionsListRow, now: number): string[] {
  return [
    row.key,
    row.hasActiveRun ? 'running' : (row.status ?? 'idle'),
    row.updatedAt ? ago(now - row.updatedAt) : '',
    row.model ?? '',
    String((row.inputTokens ?? 0) + (row.outputTokens ?? 0)),
    (row.lastMessagePreview ?? '').replaceAll(/\s+/g, ' ').slice(0, 40),
  ];
}
