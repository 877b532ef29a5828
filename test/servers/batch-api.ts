/**
 * OpenAI's APIs of files and batches, for `/v1/embeddings`. A test decides when a batch ends and
 * how; the file with answers has its lines in reverse order.
 */
import { formOf } from './forms.ts';
import { type Answer, json, type Received } from './http-faults.ts';

type Line = { custom_id: string; method: string; url: string; body: Record<string, unknown> };
type Serve = (
  key: string | undefined,
  body: Record<string, unknown>,
) => { readonly status: number; readonly body: object };
type Batch = Record<string, unknown> & {
  readonly id: string;
  status: string;
  readonly input_file_id: string;
  readonly metadata: Record<string, string>;
};
type End = 'completed' | 'expired' | 'cancelled';

export class BatchApi {
  readonly files = new Map<string, string>();
  /** oldest first */
  readonly batches: Batch[] = [];
  /** what new batches are at once; default `in_progress` */
  ends: End | undefined;
  /** why a new batch fails its validation */
  refusal: string | undefined;
  /** Changes the lines of the files with answers. */
  change: (lines: string[]) => string[] = (lines) => lines;
  /** texts that an expired or cancelled batch has not embedded */
  isLeft: (text: string) => boolean = () => false;
  readonly #serve: Serve;

  constructor(serve: Serve) {
    this.#serve = serve;
  }

  /** The lines of the file of a batch. */
  linesOf({ input_file_id }: Batch): readonly Line[] {
    const text = this.files.get(input_file_id) ?? '';
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Line);
  }

  /** Ends all open batches. */
  end(status: End): void {
    for (const batch of this.batches)
      if (batch.status === 'in_progress' || batch.status === 'cancelling') this.#end(batch, status);
  }

  async answer(request: Received): Promise<Answer | undefined> {
    const { method, url } = request;
    const [, kind, id, action] = /^\/v1\/(files|batches)(?:\/([^/]+))?(?:\/(\w+))?$/.exec(
      url.pathname,
    ) ?? [undefined, undefined];
    if (kind === 'files') return id === undefined ? this.#upload(request) : this.#file(method, id);
    if (kind !== 'batches') return undefined;
    if (id === undefined) return method === 'POST' ? this.#create(request) : this.#list(url);
    const batch = this.batches.find((one) => one.id === id);
    if (!batch) return notFound(`No batch found with id '${id}'.`);
    if (action !== 'cancel') return json(200, batch);
    if (batch.status !== 'in_progress') return refused(`the batch is ${batch.status}`, 409);
    batch.status = 'cancelling';
    return json(200, batch);
  }

  async #upload({ header, body }: Received): Promise<Answer> {
    const form = await formOf(header('content-type')!, body);
    if (form.get('purpose') !== 'batch') return refused('purpose is not batch');
    const id = `file-${this.files.size + 1}`;
    this.files.set(id, await (form.get('file') as File).text());
    return json(200, { id, object: 'file', purpose: 'batch' });
  }

  #file(method: string, id: string): Answer {
    const text = this.files.get(id);
    if (text === undefined) return notFound(`No such File object: ${id}`);
    if (method !== 'DELETE') return { status: 200, body: text };
    this.files.delete(id);
    return json(200, { id, object: 'file', deleted: true });
  }

  #create({ body }: Received): Answer {
    const { input_file_id, endpoint, completion_window, metadata } = JSON.parse(
      body.toString(),
    ) as Record<string, string> & { metadata: Record<string, string> };
    if (!this.files.has(input_file_id!)) return notFound(`No such File object: ${input_file_id}`);
    if (endpoint !== '/v1/embeddings' || completion_window !== '24h') return refused('endpoint');
    const batch: Batch = {
      id: `batch_${this.batches.length + 1}`,
      object: 'batch',
      endpoint,
      input_file_id: input_file_id!,
      completion_window,
      metadata,
      created_at: Math.floor(Date.now() / 1_000),
      status: this.refusal === undefined ? 'in_progress' : 'failed',
      errors: this.refusal === undefined ? null : { data: [{ message: this.refusal }] },
    };
    this.batches.push(batch);
    if (this.ends && this.refusal === undefined) this.#end(batch, this.ends);
    return json(200, batch);
  }

  /** Pages of two, newest first. */
  #list({ searchParams }: URL): Answer {
    const all = this.batches.toReversed();
    const from = all.findIndex(({ id }) => id === searchParams.get('after')) + 1;
    const data = all.slice(from, from + 2);
    return json(200, { object: 'list', data, has_more: from + 2 < all.length });
  }

  #end(batch: Batch, status: End): void {
    const answers: string[] = [];
    const errors: string[] = [];
    for (const { custom_id, url, method, body } of this.linesOf(batch)) {
      const text = String(body['input']);
      if (status !== 'completed' && this.isLeft(text)) {
        const error = { code: 'batch_expired', message: 'not executed in time' };
        errors.push(JSON.stringify({ custom_id, response: null, error }));
        continue;
      }
      const isFit = url === '/v1/embeddings' && method === 'POST';
      const served = this.#serve(undefined, { ...body, input: [text] });
      const response = { status_code: isFit ? served.status : 404, body: served.body };
      const line = JSON.stringify({ custom_id, response, error: null });
      (response.status_code === 200 ? answers : errors).push(line);
    }
    batch.status = status;
    const write = (name: string, lines: string[]) => {
      const id = `${batch.id}-${name}`;
      if (lines.length > 0) this.files.set(id, `${lines.join('\n')}\n`);
      return lines.length > 0 ? id : undefined;
    };
    batch['output_file_id'] = write('output', this.change(answers.reverse()));
    batch['error_file_id'] = write('errors', errors);
  }
}

const refused = (message: string, status = 400): Answer =>
  json(status, { error: { message, type: 'invalid_request_error' } });
const notFound = (message: string): Answer => refused(message, 404);
