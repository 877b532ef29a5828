/** The recipe deploy/otel.mjs: a real program sends its spans to an OTLP receiver, here our own. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { announced, runProgram, startProgram } from '../cli/program.ts';
import { scratchFolder, write } from '../runtime/config/folder.ts';
import { eventually } from '../runtime/eventually.ts';
import { startOpenAiServer } from '../servers/openai-server.ts';
import { reservePort } from '../servers/reserve-port.ts';

type Attribute = { readonly key: string; readonly value: { readonly stringValue?: string } };
type Span = {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
};
type Export = {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly Span[] }[];
  }[];
};

/** Accepts OTLP over HTTP with JSON, as a collector does at port 4318. */
async function startReceiver() {
  const exports: Export[] = [];
  const server = createServer((request, response) => {
    json(request).then(
      (body) => {
        if (request.url === '/v1/traces') exports.push(body as Export);
        response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
      },
      () => response.writeHead(400).end(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const all = () => exports.flatMap(({ resourceSpans }) => resourceSpans);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans: () => all().flatMap((one) => one.scopeSpans.flatMap(({ spans }) => spans)),
    attributes: () => all().flatMap(({ resource }) => resource.attributes),
  };
}

test('spans of a run reach an OTLP receiver, the call of the model inside its effect', async () => {
  const [receiver, model] = [await startReceiver(), await startOpenAiServer()];
  onTestFinished(() => model.close());
  const home = scratchFolder();
  const own = {
    api: 'openai-completions',
    baseUrl: model.baseUrl,
    apiKey: 'key',
    models: [{ id: 'scripted' }],
  };
  const agents = { defaults: { model: 'own/scripted', sandbox: { mode: 'none' } } };
  write(home, '.troupe/troupe.json5', JSON.stringify({ models: { providers: { own } }, agents }));
  const port = ['--port', String(await reservePort())];
  const env = {
    NODE_OPTIONS: `--import ${new URL('../../deploy/otel.mjs', import.meta.url).href}`,
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_BSP_SCHEDULE_DELAY: '100',
    OTEL_RESOURCE_ATTRIBUTES: 'service.name=my-troupe',
  };
  await announced(startProgram(['start', '--json', ...port], { home, env }));
  model.script({ kind: 'answer', deltas: ['The secret is 4711.'] });
  const answer = await runProgram(['agent', '-m', 'hello', ...port], { home });
  expect(answer.stdout).toContain('4711');

  const chat = await eventually(() => {
    const found = receiver.spans().find(({ name }) => name === 'chat scripted');
    expect(found).toBeDefined();
    return found!;
  });
  const effect = await eventually(() => {
    const found = receiver.spans().find(({ spanId }) => spanId === chat.parentSpanId);
    expect(found).toBeDefined();
    return found!;
  });
  expect(effect.name).toMatch(/^effect session\./);
  expect(effect.traceId).toBe(chat.traceId);
  expect(receiver.attributes()).toContainEqual({
    key: 'service.name',
    value: { stringValue: 'my-troupe' },
  });
  expect(JSON.stringify(receiver.spans())).not.toContain('4711');
}, 60_000);
