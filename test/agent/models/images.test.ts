import { afterEach, expect, it } from 'vitest';
import { createModelCatalog } from '../../../agent/models/catalog.ts';
import type { ModelMessage } from '../../../agent/models/model.ts';
import { systemClock as clock } from '../../../runtime/clock/clock.ts';
import { type ServedApi, startModelServer } from '../../servers/model-server.ts';
import type { ScriptedServer } from '../../servers/scripted-server.ts';
import { hearAll, patient, request } from './provider-contract.ts';

let server: ScriptedServer | undefined;
afterEach(() => server?.close());

const png = { mimeType: 'image/png', data: 'aVBORw0KGgo=' } as const;
const gif = { mimeType: 'image/gif', data: 'R0lGODlh' } as const;
const url = 'data:image/png;base64,aVBORw0KGgo=';

const messages: ModelMessage[] = [
  { role: 'user', text: 'what is this?', images: [png] },
  { role: 'assistant', text: '', calls: [{ id: 'c1', name: 'read', args: { path: 'a.png' } }] },
  { role: 'tool', callId: 'c1', name: 'read', result: 'a.png', isError: false, images: [png] },
  { role: 'user', text: '', images: [png] },
];

const sent = async (api: ServedApi, asked: ModelMessage[], images = true) => {
  server = await startModelServer({ api });
  const { baseUrl } = server;
  const models = [{ id: 'the-model', images }];
  const catalog = createModelCatalog({ providers: { p: { api, baseUrl, models } } }, { clock });
  const { provider } = catalog.resolve('p/the-model');
  const heard = await hearAll(
    provider.stream(request({ model: 'the-model', messages: asked }), patient()),
  );
  expect(heard.error?.message).toBeUndefined();
  return server.requests[0]?.body ?? {};
};

const anthropicImage = {
  type: 'image',
  source: { type: 'base64', media_type: 'image/png', data: png.data },
};
const inline = { inlineData: { mimeType: 'image/png', data: png.data } };
const chatImage = { type: 'image_url', image_url: { url } };
const inputImage = { type: 'input_image', image_url: url, detail: 'auto' };

it('sends Anthropic the images of users and of tools', async () => {
  expect((await sent('anthropic-messages', messages)).messages).toMatchObject([
    { role: 'user', content: [anthropicImage, { type: 'text', text: 'what is this?' }] },
    { role: 'assistant' },
    {
      role: 'user',
      content: [
        { type: 'tool_result', content: [{ type: 'text', text: 'a.png' }, anthropicImage] },
      ],
    },
    { role: 'user', content: [anthropicImage] },
  ]);
});

it('sends OpenAI’s Responses the images of users and of tools', async () => {
  expect((await sent('openai-responses', messages)).input).toMatchObject([
    { role: 'user', content: [{ type: 'input_text', text: 'what is this?' }, inputImage] },
    { type: 'function_call' },
    {
      type: 'function_call_output',
      output: [{ type: 'input_text', text: 'a.png' }, inputImage],
    },
    { role: 'user', content: [inputImage] },
  ]);
});

it('sends Chat Completions the images of tools in a user message after the results', async () => {
  expect((await sent('openai-completions', messages)).messages).toMatchObject([
    { role: 'system' },
    { role: 'user', content: [{ type: 'text', text: 'what is this?' }, chatImage] },
    { role: 'assistant' },
    { role: 'tool', content: 'a.png' },
    { role: 'user', content: [{ type: 'text', text: 'Images from read:' }, chatImage] },
    { role: 'user', content: [chatImage] },
  ]);
});

it('sends Gemini the images of users and of tools', async () => {
  expect((await sent('google-generative-ai', messages)).contents).toMatchObject([
    { role: 'user', parts: [inline, { text: 'what is this?' }] },
    { role: 'model' },
    { role: 'user', parts: [{ functionResponse: { name: 'read' } }, inline] },
    { role: 'user', parts: [inline] },
  ]);
});

it('replaces images of unsupported types by a line of text for Gemini', async () => {
  const body = await sent('google-generative-ai', [{ role: 'user', text: 'see', images: [gif] }]);
  expect(JSON.stringify(body)).toContain('There was an image here (image/gif, 1 KiB)');
  expect(JSON.stringify(body)).not.toContain(gif.data);
});

it.each<ServedApi>([
  'anthropic-messages',
  'openai-responses',
  'openai-completions',
  'google-generative-ai',
])('replaces images by a note for a model that accepts no images (%s)', async (api) => {
  const text = JSON.stringify(await sent(api, messages, false));
  expect(text).not.toContain(png.data);
  expect(text.match(/There was an image here \(image\/png/g)).toHaveLength(3);
});
