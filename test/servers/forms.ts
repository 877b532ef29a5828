/** The body of a request with `multipart/form-data`, read by Node's own parser. */
export const formOf = (contentType: string, body: Uint8Array): Promise<FormData> =>
  new Response(body as Uint8Array<ArrayBuffer>, {
    headers: { 'content-type': contentType },
  }).formData();

/** A file that a server has received. */
export type SentFile = { readonly name: string; readonly contents: Buffer };

export const sentFileOf = async (file: File): Promise<SentFile> => ({
  name: file.name,
  contents: Buffer.from(await file.arrayBuffer()),
});

type FormPart = { readonly name: string; readonly filename?: string; readonly contents: Buffer };

/**
 * The parts of a form, read as Telegram does. Node's parser refuses a form of grammY, where names
 * of files have no quotes.
 */
export function partsOf(contentType: string, body: Buffer): readonly FormPart[] {
  const [, boundary = ''] = /boundary=(.+)$/.exec(contentType) ?? [];
  const parts: FormPart[] = [];
  let at = body.indexOf(`--${boundary}\r\n`);
  while (at >= 0) {
    const from = at + boundary.length + 4;
    const head = body.indexOf('\r\n\r\n', from);
    const end = body.indexOf(`\r\n--${boundary}`, head);
    const text = body.subarray(from, head).toString();
    const [, name = ''] = /name="([^"]*)"/.exec(text) ?? [];
    const [, filename] = /filename="?([^";\r]+)/.exec(text) ?? [];
    const contents = body.subarray(head + 4, end);
    parts.push({ name, contents, ...(filename === undefined ? {} : { filename }) });
    at = body.indexOf(`--${boundary}\r\n`, end);
  }
  return parts;
}
