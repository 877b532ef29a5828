/** `troupe agents`: lists the registered agents, whether they are alive, and their actions. */
import { exitCodes } from '../exit.ts';
import { gatewayHttp } from '../client/gateway-http.ts';
import type { ClientOptions } from '../options.ts';
import { ago, table } from '../../operations/text.ts';
import { printJson } from '../output.ts';

export type AgentsListOptions = ClientOptions & {
  readonly status?: string;
};

type Agent = {
  readonly agent_id: string;
  readonly version: string;
  readonly status: string;
  readonly last_seen_at: string;
  readonly url?: string;
  readonly actions: readonly {
    readonly action: string;
    readonly action_version: string;
    readonly sunset_at?: string;
  }[];
};

export async function list(options: AgentsListOptions): Promise<number> {
  const request = await gatewayHttp(options);
  const all = await request<{ agents: readonly Agent[] }>({ method: 'GET', path: '/v1/agents' });
  const agents = all.agents.filter(
    ({ status }) => options.status === undefined || status === options.status,
  );
  if (options.json) printJson({ agents });
  else if (agents.length === 0) process.stdout.write('no registered agents\n');
  else {
    const now = Date.now();
    const head = ['agent', 'version', 'status', 'last seen', 'where', 'actions'];
    process.stdout.write(
      table(
        head,
        agents.flatMap((agent) => rowsOf(agent, now)),
      ),
    );
  }
  return exitCodes.ok;
}

/** One row per action; only the first row has the agent's name. */
function rowsOf(agent: Agent, now: number): string[][] {
  const { agent_id, version, status, last_seen_at, url, actions } = agent;
  const seen = `${ago(now - Date.parse(last_seen_at))} ago`;
  const about = [agent_id, version, status, seen, url ?? 'this cell'];
  const offered = actions.map(({ action, action_version, sunset_at }) => {
    const end = sunset_at === undefined ? '' : `, ends ${sunset_at.slice(0, 10)}`;
    return `${action} ${action_version}${end}`;
  });
  const [first = 'none', ...more] = offered;
  return [[...about, first], ...more.map((action) => ['', '', '', '', '', action])];
}
