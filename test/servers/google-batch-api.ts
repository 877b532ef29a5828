/**
 * Gemini's APIs of files and batches, for embeddings. A test decides when a batch ends and how; the
 * file with answers has its lines in reverse order.
 */
import { type Answer, json, type Received } from './http-faults.ts';

export type GoogleLine = {
  readonly key: string;
  readonly request: {
    readonly content: { readonly parts: readonly { readonly text: string }[] };
    readonly taskType: string;
    readonly outputDimensionality?: number;
  };
};
/** @returns its vector; undefined: the model refuses the text */
type Embed = (text: string, dimensions: number | undefined) => readonly number[] | undefined;
type End = 'SUCCEEDED' | 'EXPIRED' | 'CANCELLED';
type Batch = {
  readonly name: string;
  readonly file: string;
  readonly displayName: string;
  readonly model: string;
  state: string;
  output?: { readonly responsesFile: string };
  readonly error?: { readonly code: number; readonly message: string };
};

export class GoogleBatchApi {
  readonly files = new Map<string, string>();
  /** oldest first */
  readonly batches: Batch[] = [];
  /** why a new batch fails */
  refusal: string | undefined;
  /** Changes the lines of the files with answers. */
  change: (lines: string[]) => string[] = (lines) => lines;
  /** texts that an expired or cancelled batch has not embedded */
  isLeft: (text: string) => boolean = () => false;
  /** whether answers have the number of tokens */
  countsTokens = true;
  readonly #embed: Embed;
  /** sizes of the uploads that have begun */
  readonly #uploads: number[] = [];

  constructor(embed: Embed) {
    this.#embed = embed;
  }

  /** The lines of the file of a batch. */
  linesOf({ file }: Batch): readonly GoogleLine[] {
    const lines = (this.files.get(file) ?? '').split('\n').filter((line) => line !== '');
    return lines.map((line) => JSON.parse(line) as GoogleLine);
  }

  /** Ends all open batches. */
  end(state: End): void {
    for (const batch of this.batches)
      if (batch.state === 'BATCH_STATE_RUNNING') this.#end(batch, state);
  }

  answer(request: Received): Answer | undefined {
    const { method, url } = request;
    const path = url.pathname;
    if (path === '/upload/v1beta/files') return this.#upload(request);
    const [, model] = /^\/v1beta\/models\/([\w.-]+):asyncBatchEmbedContent$/.exec(path) ?? [];
    if (model !== undefined) return this.#create(model, request.body);
    const [, name, action] = /^\/v1beta\/((?:files|batches)\/[\w-]+)(?::(\w+))?$/.exec(path) ?? [];
    if (name?.startsWith('files/')) return this.#file(method, name, action);
    if (path === '/v1beta/batches') return this.#list(url);
    if (name === undefined) return undefined;
    const batch = this.batches.find((one) => one.name === name);
    if (!batch) return notFound(name);
    if (action === 'cancel') this.#end(batch, 'CANCELLED');
    return json(200, action === 'cancel' ? {} : operationOf(batch));
  }

  /** The protocol of resumable uploads. */
  #upload({ header, body, url }: Received): Answer {
    const command = header('x-goog-upload-command');
    if (command === 'start') {
      if (header('x-goog-upload-protocol') !== 'resumable') return refused('protocol');
      const id = this.#uploads.push(Number(header('x-goog-upload-header-content-length')));
      const to = `http://${header('host')}${url.pathname}?upload_id=${id}`;
      return { ...json(200, {}), headers: { 'x-goog-upload-url': to } };
    }
    const size = this.#uploads[Number(url.searchParams.get('upload_id')) - 1];
    if (command !== 'upload, finalize' || size !== body.length) return refused('upload');
    const name = `files/texts-${this.files.size + 1}`;
    this.files.set(name, body.toString());
    const answer = json(200, { file: { name, mimeType: 'application/jsonl', state: 'ACTIVE' } });
    return { ...answer, headers: { ...answer.headers, 'x-goog-upload-status': 'final' } };
  }

  #file(method: string, name: string, action: string | undefined): Answer {
    const text = this.files.get(name);
    if (text === undefined) return notFound(name);
    if (method === 'GET' && action === 'download') return { status: 200, body: text };
    if (method !== 'DELETE') return refused(`${method} ${action}`);
    this.files.delete(name);
    return json(200, {});
  }

  #create(model: string, body: Buffer): Answer {
    const { batch: wanted } = JSON.parse(body.toString()) as {
      batch: { displayName: string; inputConfig: { file_name: string } };
    };
    const file = wanted.inputConfig.file_name;
    if (!this.files.has(file)) return notFound(file);
    const batch: Batch = {
      name: `batches/batch-${this.batches.length + 1}`,
      file,
      displayName: wanted.displayName,
      model: `models/${model}`,
      state: this.refusal === undefined ? 'BATCH_STATE_RUNNING' : 'BATCH_STATE_FAILED',
      ...(this.refusal !== undefined && { error: { code: 3, message: this.refusal } }),
    };
    this.batches.push(batch);
    return json(200, operationOf(batch));
  }

  /** Pages of two. */
  #list({ searchParams }: URL): Answer {
    const from = Number(searchParams.get('pageToken') ?? 0);
    const operations = this.batches.slice(from, from + 2).map(operationOf);
    const isLast = from + 2 >= this.batches.length;
    return json(200, { operations, ...(!isLast && { nextPageToken: String(from + 2) }) });
  }

  #end(batch: Batch, end: End): void {
    const lines = this.linesOf(batch).map(({ key, request }) => {
      const text = request.content.parts.map((part) => part.text).join('');
      if (end !== 'SUCCEEDED' && this.isLeft(text))
        return { key, error: { code: 4, message: 'not executed in time' } };
      const values = this.#embed(text, request.outputDimensionality);
      if (values === undefined) return { key, error: { code: 3, message: 'bad content' } };
      const tokenCount = String(text.split(/\s+/).length);
      return { key, response: { embedding: { values }, ...(this.countsTokens && { tokenCount }) } };
    });
    const answers = this.change(lines.reverse().map((line) => JSON.stringify(line)));
    const responsesFile = `files/${batch.name.slice('batches/'.length)}-answers`;
    this.files.set(responsesFile, `${answers.join('\n')}\n`);
    batch.state = `BATCH_STATE_${end}`;
    batch.output = { responsesFile };
  }
}

const operationOf = ({ name, file, error, ...metadata }: Batch) => ({
  name,
  metadata: { ...metadata, inputConfig: { fileName: file }, createTime: new Date().toISOString() },
  ...(metadata.state !== 'BATCH_STATE_RUNNING' && { done: true }),
  ...(error !== undefined && { error }),
});

const refused = (message: string): Answer =>
  json(400, { error: { code: 400, message, status: 'INVALID_ARGUMENT' } });
const notFound = (name: string): Answer =>
  json(404, { error: { code: 404, message: `${name} is not there`, status: 'NOT_FOUND' } });
