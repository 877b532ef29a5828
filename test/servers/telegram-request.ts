/** The parameters and files of a request to the Bot API, as JSON or as a form. */
import type { IncomingMessage } from 'node:http';
import { partsOf, type SentFile } from './forms.ts';

export type Parameters = Readonly<Record<string, string | number | undefined>>;
/** By the field of the method that has the file, such as `document`. */
export type Uploads = Readonly<Record<string, SentFile>>;

export async function readRequest(
  incoming: IncomingMessage,
  url: URL,
): Promise<{ parameters: Parameters; uploads: Uploads }> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  const query = Object.fromEntries(url.searchParams);
  const { 'content-type': type = '' } = incoming.headers;
  if (!type.startsWith('multipart/form-data')) {
    const fields = body.length === 0 ? {} : (JSON.parse(body.toString()) as Parameters);
    return { parameters: { ...query, ...fields }, uploads: {} };
  }
  const parts = partsOf(type, body);
  const fields = parts.filter(({ filename }) => filename === undefined);
  const uploads: Record<string, SentFile> = {};
  for (const { name, contents } of fields) {
    const file = parts.find((one) => contents.toString() === `attach://${one.name}`);
    if (file) uploads[name] = { name: file.filename ?? '', contents: file.contents };
  }
  const values = fields.map(({ name, contents }) => [name, contents.toString()]);
  return { parameters: { ...query, ...Object.fromEntries(values) }, uploads };
}
