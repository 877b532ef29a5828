/** The MCP servers with their tools, and the A2A agents, that agents may call. */
import type { ListedServer } from '../../../protocols/remote-server.ts';
import type { DetailProps } from '../list-view.tsx';
import { Failure } from '../list-view.tsx';
import { Facts, Part, Time } from '../pane.tsx';
import { useReading } from '../reading.ts';
import { StatePill } from '../state-pill.tsx';
import { strings } from '../strings.ts';

const own = strings.calls;

export const PROTOCOLS: Readonly<Record<string, string>> = { mcp: 'MCP', a2a: 'A2A' };

export const CalledServers = ({ workspace }: Pick<DetailProps, 'workspace'>) => {
  const reading = useReading('called servers', () =>
    workspace.operate<{ servers: readonly ListedServer[] }>('calls.servers'),
  );
  const servers = reading.value?.servers ?? [];
  if (servers.length === 0 && reading.error === undefined) return null;
  return (
    <section class="called-servers" aria-label={own.servers}>
      <Failure reading={reading} />
      {servers.map((server) => (
        <Server key={`${server.kind} ${server.name}`} server={server} />
      ))}
    </section>
  );
};

const stateOf = ({ enabled, state }: ListedServer): string | undefined =>
  enabled ? (state === 'listed' ? 'ok' : state) : 'off';

const Server = ({ server }: { server: ListedServer }) => {
  const { kind, name, place, transport, approval, tools, leftOut, error } = server;
  const state = stateOf(server);
  return (
    <details>
      <summary>
        <b>{name}</b> {PROTOCOLS[kind]}
        {kind === 'mcp' && ` · ${own.tools(tools.length)}`}{' '}
        {state !== undefined && <StatePill state={state} />}
      </summary>
      {error && <p class="failed">{error.message}</p>}
      <Facts
        facts={[
          [own.place, `${place} (${transport})`],
          [own.approval, own.approvals[approval]],
          [own.about, server.about],
          [own.revision, server.revision],
          [own.listed, server.listedAt && <Time key="listed" at={server.listedAt} />],
        ]}
      />
      {tools.length > 0 && (
        <table>
          <thead>
            <tr>
              <th scope="col">{own.tool}</th>
              <th scope="col">{own.approval}</th>
            </tr>
          </thead>
          <tbody>
            {tools.map((tool) => (
              <tr key={tool.name}>
                <td>
                  {tool.serverName}
                  {tool.readOnly && <span class="muted"> ({own.readsOnly})</span>}
                </td>
                <td>{own.approvals[tool.approval]}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {leftOut.length > 0 && (
        <Part title={own.leftOut}>
          <Facts facts={leftOut.map((tool) => [tool.name, tool.why])} />
        </Part>
      )}
    </details>
  );
};
