/** The section `mcp`: what MCP clients can do, and the MCP servers whose tools agents have. */
import { Type } from '@sinclair/typebox';
import { oneOf, record, secret, section } from './fields.ts';

export const MCP_OPERATIONS = ['none', 'read', 'all'] as const;
const MCP_APPROVALS = ['always', 'changes', 'never'] as const;
const MCP_GRANTS = ['authorization_code', 'client_credentials'] as const;

/** No `__`, which separates the parts of a tool's name. */
const MCP_SERVER_NAME = '^[a-z0-9]+([_-][a-z0-9]+)*$';

const secrets = (pattern: string, of: string, description: string) =>
  Type.Record(Type.String({ pattern }), secret(of), {
    default: {},
    additionalProperties: false,
    description,
  });
const patterns = (description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { default: [], description });

const httpsUrl = (description: string) =>
  Type.String({
    pattern: '^https://[^\\s/]+/[^\\s]+$',
    'x-allowed': 'an https:// URL with a path',
    description,
  });

const oauth = record(
  'how troupe logs in by OAuth, for servers with a `url`. A server that accepts the registration of clients ' +
    'needs none of it: `troupe mcp login NAME`',
  {
    grant: oneOf(MCP_GRANTS, {
      default: 'authorization_code',
      description:
        '`authorization_code`: a person logs in (`troupe mcp login NAME`). `client_credentials`: troupe itself, ' +
        'with `clientId` and `clientSecret`, without a login',
    }),
    issuer: Type.Optional(
      Type.String({
        pattern: '^https?://[^\\s/]+',
        'x-allowed': 'an http:// or https:// URL',
        description:
          'the only authorization server that gets `clientId` and `clientSecret`; without it, the one that the ' +
          'server names first, until `troupe mcp logout NAME`',
      }),
    ),
    clientId: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 2_000,
        description: 'id of a client that is registered with the authorization server',
      }),
    ),
    clientSecret: Type.Optional(secret('secret of the client `clientId`')),
    clientMetadataUrl: Type.Optional(
      httpsUrl(
        'where the metadata document of this client is published: its URL is the client id, if the authorization ' +
          'server supports such ids',
      ),
    ),
    scopes: Type.Array(
      Type.String({
        pattern: '^[\\x21\\x23-\\x5B\\x5D-\\x7E]{1,200}$',
        'x-allowed': 'a scope, without spaces',
      }),
      {
        default: [],
        description: 'scopes to ask for; empty: those that the server names',
      },
    ),
    redirectPort: Type.Optional(
      Type.Integer({
        minimum: 1_024,
        maximum: 65_535,
        description: 'port of 127.0.0.1 to which the browser returns; default: a free one',
      }),
    ),
  },
);

const server = section('one server: a program (`command`) or a URL (`url`)', {
  enabled: Type.Boolean({ default: true, description: 'whether agents have its tools' }),
  command: Type.Optional(
    Type.String({ minLength: 1, description: 'program that speaks MCP by stdin and stdout' }),
  ),
  args: Type.Array(Type.String(), {
    default: [],
    description: 'arguments of the program; they are visible to other users of the machine',
  }),
  env: secrets(
    '^[A-Za-z_][A-Za-z0-9_]*$',
    'its value',
    'environment variables of the program, in addition to PATH, HOME and LANG',
  ),
  cwd: Type.Optional(
    Type.String({
      pattern: '^/',
      'x-allowed': 'an absolute path',
      description:
        'existing folder that the program works in and may change. In the sandbox it is `/workspace`',
    }),
  ),
  sandbox: Type.Boolean({
    default: true,
    description:
      'whether the program runs in the sandbox of commands (`tools.exec.boundary`). If no sandbox works here, ' +
      'it does not run, and its tools are not offered. `false`: with all rights of the user who runs troupe',
  }),
  network: Type.Boolean({
    default: true,
    description: 'whether the sandboxed program reaches the network',
  }),
  url: Type.Optional(
    Type.String({
      pattern: '^https?://[^\\s/]+',
      'x-allowed': 'an http:// or https:// URL',
      description: 'URL of a server that speaks streamable HTTP',
    }),
  ),
  headers: secrets(
    '^[A-Za-z0-9-]{1,64}$',
    'its value',
    'headers of requests, such as `Authorization`',
  ),
  oauth: Type.Optional(oauth),
  allowPrivate: Type.Boolean({
    default: false,
    description:
      'whether the URL, and those of its authorization server, may have a private address, this machine included',
  }),
  tools: section('which of its tools agents have; names as the server has them', {
    allow: patterns('names, with `*` for any characters; empty: all'),
    deny: patterns('names, with `*` for any characters; overrides `allow`'),
  }),
  approval: oneOf(MCP_APPROVALS, {
    default: 'changes',
    description:
      'which calls an operator must approve: all, those of tools that do not declare that they only read ' +
      '(`readOnlyHint`), or none',
  }),
  timeoutSeconds: Type.Integer({
    minimum: 1,
    maximum: 86_400,
    default: 120,
    description: 'time limit of a call, seconds',
  }),
});

export const mcpServers = Type.Record(
  Type.String({ pattern: MCP_SERVER_NAME, maxLength: 32 }),
  server,
  {
    default: {},
    additionalProperties: false,
    description: 'MCP servers whose tools agents have, by name',
  },
);

export const mcpSection = section(
  'the Model Context Protocol: the server at `/mcp` of the gateway, and servers whose tools agents have',
  {
    operations: oneOf(MCP_OPERATIONS, {
      description:
        'which operations are tools for operators, in addition to the actions of agents: none, those that only read, or all',
      default: 'read',
    }),
    skills: oneOf(['none', 'operators', 'all'], {
      description:
        'who can read the shared skills of its tenant over MCP: no client, operators, or every token of the tenant',
      default: 'operators',
    }),
    apps: Type.Boolean({
      default: true,
      description:
        'whether clients that show views (MCP Apps) get one for the tools of actions: the statechart of the task',
    }),
    servers: mcpServers,
  },
);
