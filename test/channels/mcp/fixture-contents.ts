/** Contents that the conformance suite of MCP expects of the server that it tests. */
import type { McpPrompt, McpResources } from '../../../channels/mcp/catalog.ts';
import { askFor, nameForm } from './fixture-inputs.ts';

/** A PNG of one pixel. */
export const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
/** The head of a WAV file without samples. */
export const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=';

export const text = (value: string) => ({ type: 'text' as const, text: value });
export const image = { type: 'image' as const, data: PNG, mimeType: 'image/png' };
export const embedded = (uri: string, mimeType: string, value: string) => ({
  type: 'resource' as const,
  resource: { uri, mimeType, text: value },
});

const LISTED = [
  {
    uri: 'test://static-binary',
    name: 'static-binary',
    description: 'An image',
    mimeType: 'image/png',
  },
  {
    uri: 'test://static-text',
    name: 'static-text',
    description: 'A text',
    mimeType: 'text/plain',
  },
  {
    uri: 'test://watched-resource',
    name: 'watched-resource',
    description: 'A text that clients may subscribe to',
    mimeType: 'text/plain',
  },
];

const TEXTS: Readonly<Record<string, string>> = {
  'test://static-text': 'This is the content of the static text resource.',
  'test://watched-resource': 'This is the content of the watched resource.',
};

/** @param subscribed URIs of resources to which a client subscribed */
export const fixtureResources = (subscribed: Set<string>): McpResources => ({
  list: (cursor) =>
    Promise.resolve(
      cursor === undefined
        ? { resources: LISTED.slice(0, 2), nextCursor: 'rest' }
        : { resources: LISTED.slice(2) },
    ),
  templates: [
    {
      name: 'template',
      uriTemplate: 'test://template/{id}/data',
      description: 'A text with the id',
      mimeType: 'application/json',
    },
  ],
  read(uri) {
    const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
    if (uri === 'test://static-binary')
      return Promise.resolve({ contents: [{ uri, mimeType: 'image/png', blob: PNG }] });
    if (id !== undefined) {
      const content = { id, templateTest: true, data: `Data for ID: ${id}` };
      return Promise.resolve({
        contents: [{ uri, mimeType: 'application/json', text: JSON.stringify(content) }],
      });
    }
    const found = TEXTS[uri];
    if (found === undefined) return Promise.resolve(undefined);
    return Promise.resolve({ contents: [{ uri, mimeType: 'text/plain', text: found }] });
  },
  subscriptions: {
    subscribe: (uri) => void subscribed.add(uri),
    unsubscribe: (uri) => void subscribed.delete(uri),
  },
});

const user = <T>(content: T) => ({ role: 'user' as const, content });

export const FIXTURE_PROMPTS: readonly McpPrompt[] = [
  {
    definition: { name: 'test_input_required_result_prompt', description: 'Asks for its context' },
    get(_args, { mcpReq }) {
      const given = mcpReq.inputResponses?.['user_context'] as { content?: { context?: string } };
      if (given?.content?.context !== undefined)
        return Promise.resolve({ messages: [user(text(`Context: ${given.content.context}`))] });
      const form = nameForm('context');
      return Promise.resolve(
        askFor({ user_context: ['What context should the prompt use?', form] }),
      );
    },
  },
  {
    definition: {
      name: 'test_prompt_with_arguments',
      description: 'Two arguments',
      arguments: [
        { name: 'arg1', required: true },
        { name: 'arg2', required: true },
      ],
    },
    get: ({ arg1, arg2 }) =>
      Promise.resolve({
        messages: [user(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`))],
      }),
  },
  {
    definition: {
      name: 'test_prompt_with_embedded_resource',
      description: 'A resource',
      arguments: [{ name: 'resourceUri', required: true }],
    },
    get: ({ resourceUri }) =>
      Promise.resolve({
        messages: [
          user(embedded(resourceUri!, 'text/plain', 'Embedded resource content for testing.')),
          user(text('Please process the embedded resource above.')),
        ],
      }),
  },
  {
    definition: { name: 'test_prompt_with_image', description: 'An image' },
    get: () =>
      Promise.resolve({ messages: [user(image), user(text('Please analyze the image above.'))] }),
  },
  {
    definition: { name: 'test_simple_prompt', description: 'A text' },
    get: () => Promise.resolve({ messages: [user(text('This is a simple prompt for testing.'))] }),
  },
];
