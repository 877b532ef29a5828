/** MCP servers and A2A agents that agents may call, as operators see them. */
import type { LeftOut, McpServerRow } from './mcp-server.ts';
import type { RemoteCallKind } from './remote-call.ts';

/** What the configuration says, without secrets. */
export type RemoteServer = {
  readonly kind: RemoteCallKind;
  /** as the configuration has it */
  readonly name: string;
  readonly transport: 'stdio' | 'http';
  /** the program without its arguments, or the URL without its login and query */
  readonly place: string;
  readonly enabled: boolean;
  /** which calls an operator must approve; `changes`: those of tools that do not only read */
  readonly approval: 'always' | 'ask' | 'changes' | 'never';
  /** what the card of an agent said when it was added */
  readonly about?: string;
};

/** A server with the tools that agents have of it; an A2A agent has none. */
export type ListedServer = RemoteServer & {
  /** absent: its list was not read yet, or it has none */
  readonly state?: McpServerRow['state'];
  /** how often the list was replaced */
  readonly revision?: number;
  /** of the latest list, epoch milliseconds */
  readonly listedAt: number | null;
  readonly tools: readonly {
    readonly name: string;
    readonly serverName: string;
    readonly readOnly: boolean;
    /** `ask`: unless an operator has allowed the tool permanently */
    readonly approval: 'always' | 'ask' | 'never';
  }[];
  readonly leftOut: readonly LeftOut[];
  /** why the latest attempt to read the list failed */
  readonly error?: McpServerRow['error'];
};
