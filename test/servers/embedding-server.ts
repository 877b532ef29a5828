/**
 * A local server with the embedding APIs of OpenAI and Gemini. Its model knows a few concepts in
 * three languages: texts about the same concepts have nearly the same vector.
 */
import { BatchApi } from './batch-api.ts';
import { GoogleBatchApi } from './google-batch-api.ts';
import { type FaultyServer, json, openFaultyServer, type Received } from './http-faults.ts';

export type EmbeddingServer = FaultyServer & {
  /** of the API of OpenAI, and of Gemini */
  readonly openAiUrl: string;
  readonly googleUrl: string;
  /** texts of each request, in order */
  readonly texts: (readonly string[])[];
  /** bodies of the requests */
  readonly bodies: Record<string, unknown>[];
  /** of the API of OpenAI */
  readonly batches: BatchApi;
  /** of the API of Gemini */
  readonly googleBatches: GoogleBatchApi;
  readonly keys: (string | undefined)[];
  /** Changes the vectors of the next answers. */
  change: (vectors: number[][]) => number[][];
  /** texts that the model refuses */
  refuses: (text: string) => boolean;
  /** answers base64 although numbers are asked for */
  isAlwaysBase64: boolean;
};

const DIMENSIONS = 64;
const CONCEPTS = [
  ['invoice', 'bill', 'hóa đơn', '发票'],
  ['cat', 'kitten', 'mèo', '猫'],
  ['coffee', 'espresso', 'cà phê', '咖啡'],
  ['holiday', 'vacation', 'kỳ nghỉ', '假期'],
  ['repair', 'fix', 'sửa', '修理'],
  ['doctor', 'physician', 'bác sĩ', '医生'],
];

/** Of length 1. Words that are no concept count a little. */
export function meaningOf(text: string): number[] {
  const vector = Array.from({ length: DIMENSIONS }, () => 0);
  const words = text.toLowerCase().split(/[^\p{L}\p{N}]+/u);
  const spaced = ` ${words.join(' ')} `;
  const has = (word: string) => spaced.includes(/\p{Script=Han}/u.test(word) ? word : ` ${word} `);
  for (const [at, concept] of CONCEPTS.entries()) if (concept.some(has)) vector[at] = 1;
  for (const word of words) {
    let hash = 7;
    for (const character of word) hash = (Math.imul(hash, 31) + character.codePointAt(0)!) >>> 0;
    vector[CONCEPTS.length + (hash % (DIMENSIONS - CONCEPTS.length))]! += 0.05;
  }
  const length = Math.hypot(...vector);
  return vector.map((component) => component / length);
}

export async function openEmbeddingServer(): Promise<EmbeddingServer> {
  const batches = new BatchApi((key, body) => {
    const answer = ofOpenAi({ header: () => key }, body, own);
    return { status: answer.status, body: JSON.parse(String(answer.body)) as object };
  });
  const googleBatches = new GoogleBatchApi((text, dimensions) => {
    if (own.refuses(text)) return undefined;
    own.texts.push([text]);
    return vectorsOf([text], dimensions, own)[0];
  });
  const http = await openFaultyServer(async (request) => {
    const ofBatch = googleBatches.answer(request) ?? (await batches.answer(request));
    if (ofBatch) return ofBatch;
    const body = JSON.parse(request.body.toString()) as Record<string, unknown>;
    own.bodies.push(body);
    if (request.url.pathname === '/v1/embeddings') return ofOpenAi(request, body, own);
    if (/^\/v1beta\/models\/[\w.-]+:batchEmbedContents$/.test(request.url.pathname))
      return ofGoogle(request, body, own);
    return { status: 404 };
  });
  const own: EmbeddingServer = {
    ...http,
    openAiUrl: `${http.url}/v1`,
    googleUrl: http.url,
    texts: [],
    bodies: [],
    batches,
    googleBatches,
    keys: [],
    change: (vectors) => vectors,
    refuses: (text) => text.trim() === '',
    isAlwaysBase64: false,
  };
  return own;
}

function ofOpenAi(
  request: Pick<Received, 'header'>,
  body: Record<string, unknown>,
  own: EmbeddingServer,
) {
  const input = body['input'] as string[];
  own.texts.push(input);
  own.keys.push(request.header('authorization')?.replace('Bearer ', ''));
  if (input.length > 2_048 || input.some((text) => own.refuses(text)))
    return json(400, { error: { message: "'input' is invalid", type: 'invalid_request_error' } });
  const isBase64 = own.isAlwaysBase64 || body['encoding_format'] === 'base64';
  const data = vectorsOf(input, body['dimensions'], own).map((vector, index) => ({
    object: 'embedding',
    index,
    embedding: isBase64 ? Buffer.from(Float32Array.from(vector).buffer).toString('base64') : vector,
  }));
  const tokens = input.reduce((sum, text) => sum + text.split(/\s+/).length, 0);
  // The order of the answers is not promised; they have an index.
  return json(200, {
    object: 'list',
    data: data.reverse(),
    model: body['model'],
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  });
}

type GoogleRequest = {
  readonly model: string;
  readonly content: { readonly parts: readonly { readonly text: string }[] };
  readonly taskType: string;
  readonly outputDimensionality?: number;
};

function ofGoogle(request: Received, body: Record<string, unknown>, own: EmbeddingServer) {
  const requests = body['requests'] as GoogleRequest[];
  const input = requests.map(({ content }) => content.parts.map(({ text }) => text).join(''));
  own.texts.push(input);
  own.keys.push(request.header('x-goog-api-key'));
  if (input.length > 100 || input.some((text) => own.refuses(text)))
    return json(400, { error: { code: 400, message: 'bad content', status: 'INVALID_ARGUMENT' } });
  const vectors = vectorsOf(input, requests[0]?.outputDimensionality, own);
  return json(200, { embeddings: vectors.map((values) => ({ values })) });
}

/** Shortened vectors are not of length 1, as those of Gemini. */
const vectorsOf = (input: readonly string[], dimensions: unknown, { change }: EmbeddingServer) =>
  change(input.map((text) => meaningOf(text).slice(0, Number(dimensions ?? DIMENSIONS))));
