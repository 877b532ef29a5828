/** Tools that the conformance suite of MCP calls: each kind of content, and each kind of input. */
import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  ProtocolError,
  ProtocolErrorCode,
  type RequestStateCodec,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { CallContext, McpTool, ToolAnswer } from '../../../channels/mcp/catalog.ts';
import { embedded, image, text, WAV } from './fixture-contents.ts';
import {
  ask,
  askFor,
  confirmForm,
  elicit,
  LIST_ROOTS,
  nameForm,
  sample,
} from './fixture-inputs.ts';

type Answer = ToolAnswer | Promise<ToolAnswer>;
type Call = (args: Readonly<Record<string, unknown>>, context: ServerContext) => Answer;

const tool = (name: string, call: Call, inputSchema: object = {}): McpTool => ({
  definition: {
    name,
    description: `${name} of the conformance suite`,
    inputSchema: { type: 'object', ...inputSchema },
  },
  call: async (args, context) => call(args, context),
});

const content = (...parts: CallToolResult['content']): CallToolResult => ({ content: parts });
const said = (value: string): CallToolResult => content(text(value));
const property = (name: string) => ({
  properties: { [name]: { type: 'string' } },
  required: [name],
});
const responseOf = ({ mcpReq }: ServerContext, key: string): Record<string, unknown> | undefined =>
  mcpReq.inputResponses?.[key] as Record<string, unknown> | undefined;
const nameOf = (context: ServerContext, key: string, field = 'name'): string | undefined => {
  const { content: given } = responseOf(context, key) ?? {};
  const value = (given as Record<string, unknown> | undefined)?.[field];
  return typeof value === 'string' ? value : undefined;
};

/** They use nothing of their calls. */
export const contentTools: readonly McpTool<CallContext>[] = [
  tool('test_audio_content', () => content({ type: 'audio', data: WAV, mimeType: 'audio/wav' })),
  tool('test_embedded_resource', () =>
    content(
      embedded('test://embedded-resource', 'text/plain', 'This is an embedded resource content.'),
    ),
  ),
  tool('test_error_handling', () => ({
    isError: true,
    ...said('This tool intentionally returns an error for testing'),
  })),
  tool('test_image_content', () => content(image)),
  tool('test_multiple_content_types', () =>
    content(
      text('Multiple content types test:'),
      image,
      embedded('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
    ),
  ),
  tool('test_simple_text', () => said('This is a simple text response for testing.')),
];

const logs: Call = async (_args, { mcpReq }) => {
  for (const step of ['execution started', 'processing data', 'execution completed'])
    await mcpReq.log('info', `Tool ${step}`);
  return said('logged');
};

const messageTools: readonly McpTool[] = [
  tool('test_logging_tool', logs),
  tool('test_tool_with_logging', logs),
  tool('test_tool_with_progress', async (_args, { mcpReq }) => {
    const { progressToken } = mcpReq._meta ?? {};
    if (progressToken !== undefined)
      for (const progress of [0, 50, 100])
        await mcpReq.notify({
          method: 'notifications/progress',
          params: { progressToken, progress, total: 100 },
        });
    return said('done');
  }),
];

const DEFAULTS = {
  name: { type: 'string', default: 'John Doe' },
  age: { type: 'integer', default: 30 },
  score: { type: 'number', default: 95.5 },
  status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
  verified: { type: 'boolean', default: true },
};
const titled = (title: string) =>
  ['First', 'Second', 'Third'].map((which, at) => ({
    const: `value${at + 1}`,
    title: `${which} ${title}`,
  }));
const OPTIONS = ['option1', 'option2', 'option3'];
const ENUMS = {
  untitledSingle: { type: 'string', enum: OPTIONS },
  titledSingle: { type: 'string', oneOf: titled('Option') },
  legacyEnum: {
    type: 'string',
    enum: ['opt1', 'opt2', 'opt3'],
    enumNames: ['Option One', 'Option Two', 'Option Three'],
  },
  untitledMulti: { type: 'array', items: { type: 'string', enum: OPTIONS } },
  titledMulti: { type: 'array', items: { anyOf: titled('Choice') } },
};

/** Asks for a form, and returns what the client answered. */
const elicits = (name: string, properties: object, prefix: string): McpTool =>
  tool(name, (_args, context) => {
    const given = responseOf(context, 'form');
    if (!given) return askFor({ form: ['Please fill in', { type: 'object', properties }] });
    return said(
      `${prefix}: action=${String(given['action'])}, content=${JSON.stringify(given['content'])}`,
    );
  });

const USER = {
  type: 'object' as const,
  properties: {
    username: { type: 'string', description: "User's response" },
    email: { type: 'string', description: "User's email address" },
  },
  required: ['username', 'email'],
};

const sampledText = (given: Record<string, unknown>): string => {
  const parts = [given['content']].flat() as readonly { readonly text?: string }[];
  return parts.map((part) => part.text ?? '').join('');
};

const inputTools: readonly McpTool[] = [
  tool(
    'test_elicitation',
    ({ message }, context) => {
      const given = responseOf(context, 'user');
      if (!given) return askFor({ user: [String(message), USER] });
      const { action, content: answer } = given;
      return said(`User response: action: ${String(action)}, content: ${JSON.stringify(answer)}`);
    },
    property('message'),
  ),
  elicits('test_elicitation_sep1034_defaults', DEFAULTS, 'Elicitation completed'),
  elicits('test_elicitation_sep1330_enums', ENUMS, 'Elicitation completed'),
  elicits('test_streaming_elicitation', { name: { type: 'string' } }, 'Streamed'),
  tool(
    'test_sampling',
    ({ prompt }, context) => {
      const given = responseOf(context, 'answer');
      return given
        ? said(`LLM response: ${sampledText(given)}`)
        : ask({ answer: sample(String(prompt), 100) });
    },
    property('prompt'),
  ),
  tool('test_input_required_result_elicitation', (_args, context) => {
    const name = nameOf(context, 'user_name');
    return name === undefined
      ? askFor({ user_name: ['What is your name?', nameForm()] })
      : said(`Hello, ${name}!`);
  }),
  tool('test_input_required_result_sampling', (_args, context) => {
    const given = responseOf(context, 'capital_question');
    return given
      ? said(sampledText(given))
      : ask({ capital_question: sample('What is the capital of France?', 100) });
  }),
  tool('test_input_required_result_list_roots', (_args, context) => {
    const given = responseOf(context, 'client_roots');
    return given ? said(JSON.stringify(given['roots'])) : ask({ client_roots: LIST_ROOTS });
  }),
];

const capabilitiesOf = ({ mcpReq }: ServerContext): Record<string, unknown> =>
  ((mcpReq.envelope as Record<string, unknown> | undefined)?.[CLIENT_CAPABILITIES_META_KEY] ??
    {}) as Record<string, unknown>;

const capabilityTools: readonly McpTool[] = [
  tool('test_input_required_result_capabilities', (_args, context) => {
    const { elicitation, sampling } = capabilitiesOf(context);
    return ask({
      ...(elicitation ? { user_name: elicit('What is your name?', nameForm()) } : {}),
      ...(sampling ? { greeting: sample('Generate a greeting', 50) } : {}),
    });
  }),
  tool('test_missing_capability', (_args, context) => {
    if (capabilitiesOf(context)['sampling']) return said('sampling is declared');
    throw new ProtocolError(
      ProtocolErrorCode.MissingRequiredClientCapability,
      'this tool needs the client capability sampling',
      { requiredCapabilities: { sampling: {} } },
    );
  }),
];

/** What a request state of the fixture contains: how many inputs were given, and the first one. */
type State = { readonly step: number; readonly name?: string };

const stateTools = (codec: RequestStateCodec): readonly McpTool[] => {
  const state = (value: State): Promise<string> => codec.mint(value);
  const stateOf = ({ mcpReq }: ServerContext): State | undefined => mcpReq.requestState<State>();
  const confirms: Call = async (_args, context) =>
    stateOf(context) && responseOf(context, 'confirm')
      ? said('state-ok')
      : askFor({ confirm: ['Please confirm', confirmForm()] }, await state({ step: 1 }));
  return [
    tool('test_input_required_result_request_state', confirms),
    tool('test_input_required_result_tampered_state', confirms),
    tool('test_input_required_result_multiple_inputs', async (_args, context) => {
      const keys = ['user_name', 'greeting', 'client_roots'];
      if (stateOf(context) && keys.every((key) => responseOf(context, key)))
        return said('all inputs are given');
      const requests = {
        user_name: elicit('What is your name?', nameForm()),
        greeting: sample('Generate a greeting', 50),
        client_roots: LIST_ROOTS,
      };
      return ask(requests, await state({ step: 1 }));
    }),
    tool('test_input_required_result_multi_round', async (_args, context) => {
      const { step, name: before } = stateOf(context) ?? { step: 0 };
      const name = nameOf(context, 'step1') ?? before;
      const color = nameOf(context, 'step2', 'color');
      if (step === 2 && color !== undefined) return said(`${name} likes ${color}`);
      if (step === 0 || name === undefined)
        return askFor(
          { step1: ['Step 1: What is your name?', nameForm()] },
          await state({ step: 1 }),
        );
      return askFor(
        { step2: ['Step 2: What is your favorite color?', nameForm('color')] },
        await state({ step: 2, name }),
      );
    }),
  ];
};

/** Schemas of tools that clients get unchanged. */
const schemaTools: readonly McpTool[] = [
  tool('json_schema_2020_12_tool', () => said('valid'), {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $defs: {
      address: {
        $anchor: 'addressDef',
        type: 'object',
        properties: { street: { type: 'string' }, city: { type: 'string' } },
      },
    },
    properties: {
      name: { type: 'string' },
      address: { $ref: '#/$defs/address' },
      contactMethod: { type: 'string', enum: ['phone', 'email'] },
      phone: { type: 'string' },
      email: { type: 'string' },
    },
    allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
    if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
    // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON schema
    then: { required: ['phone'] },
    else: { required: ['email'] },
    additionalProperties: false,
  }),
  tool('test_header_parameter', ({ region }) => said(`region ${String(region)}`), {
    properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
    required: ['region'],
  }),
];

export const fixtureTools = (codec: RequestStateCodec): readonly McpTool[] => [
  ...contentTools,
  ...messageTools,
  ...inputTools,
  ...capabilityTools,
  ...stateTools(codec),
  ...schemaTools,
];
