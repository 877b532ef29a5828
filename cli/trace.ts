/** `troupe trace RUN`: what a run caused, across sessions, agents and workers. */
import { mermaidOf } from '../channels/trace/mermaid.ts';
import { textOf } from '../channels/trace/text.ts';
import { defined } from '../protocols/defined.ts';
import type { RunTrace } from '../protocols/run-trace.ts';
import { exitCodes } from './exit.ts';
import { gatewayHttp } from './client/gateway-http.ts';
import type { ClientOptions } from './options.ts';
import { printJson } from './output.ts';

export type TraceOptions = ClientOptions & {
  readonly mermaid?: boolean;
  readonly depth?: number;
  readonly tenant?: string;
};

export async function trace(runId: string, options: TraceOptions): Promise<number> {
  const { depth, tenant } = options;
  const query = new URLSearchParams({
    ...(depth === undefined ? {} : { depth: String(depth) }),
    ...defined({ tenant }),
  });
  const http = await gatewayHttp(options);
  const path = `/v1/runs/${encodeURIComponent(runId)}/trace?${query.toString()}`;
  const found = await http<RunTrace>({ method: 'GET', path });
  if (options.json) printJson(found);
  else process.stdout.write(options.mermaid ? mermaidOf(found) : textOf(found));
  return exitCodes.ok;
}
