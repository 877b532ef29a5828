/** Files of messages, as the Cloud API accepts them. Pure. */
import type { FilePiece } from '../adapter.ts';

type File = FilePiece['file'];

const MIB = 1024 * 1024;
/** By the documentation of the Cloud API, "Supported media types"; `document` has the others. */
const SHOWN = [
  { kind: 'image', bytesMax: 5 * MIB, types: ['image/jpeg', 'image/png'] },
  { kind: 'video', bytesMax: 16 * MIB, types: ['video/mp4', 'video/3gpp'] },
  {
    kind: 'audio',
    bytesMax: 16 * MIB,
    types: ['audio/aac', 'audio/amr', 'audio/mpeg', 'audio/mp4', 'audio/ogg'],
  },
] as const;
const OFFICE = /^application\/(?:msword|vnd\.(?:ms-|openxmlformats-officedocument\.).+)$/;
const TEXT = /^(?:text\/.+|application\/json)$/;

/** The Cloud API accepts only these types. */
export const isAccepted = (contentType: string): boolean =>
  contentType === 'application/pdf' ||
  OFFICE.test(contentType) ||
  TEXT.test(contentType) ||
  SHOWN.some(({ types }) => isOne(types, contentType));

const isOne = (types: readonly string[], type: string): boolean => types.includes(type);

/** The body of an upload. */
export function formOf({ name, contentType, contents }: File): FormData {
  // the only text that is accepted
  const type = TEXT.test(contentType) ? 'text/plain' : contentType;
  const form = new FormData();
  form.set('messaging_product', 'whatsapp');
  form.set('type', type);
  form.set('file', new Blob([contents as Uint8Array<ArrayBuffer>], { type }), name);
  return form;
}

/** The content of a message with an uploaded file. */
export function contentOf({ name, contentType, contents }: File, id: string): object {
  const shown = SHOWN.find(
    ({ types, bytesMax }) => isOne(types, contentType) && contents.length <= bytesMax,
  );
  if (shown) return { type: shown.kind, [shown.kind]: { id } };
  return { type: 'document', document: { id, filename: name } };
}
