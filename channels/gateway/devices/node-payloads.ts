/** Stores answers of nodes that are too long for an actor message as files of the tenant. */
import { PAYLOAD_CHARACTERS_MAX, type Payload } from '../../../protocols/device.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import type { Artifacts } from '../../../runtime/index.ts';

/** The bucket of files for long answers. */
export type Payloads = {
  /** @returns the SHA-256 hash that `get` expects */
  put(this: void, tenant: string, text: string): Promise<string>;
  get(this: void, tenant: string, hash: string): Promise<string>;
};

/** The bucket that also stores the files of tasks. */
export const payloadsIn = (bucket: Promise<Pick<Artifacts, 'put' | 'get'>>): Payloads => ({
  async put(tenant, text) {
    const contents = Buffer.from(text, 'utf8');
    const type = { contentType: 'application/json' };
    return (await (await bucket).put(tenant, contents, type)).hash;
  },
  async get(tenant, hash) {
    const { contents } = await (await bucket).get(tenant, hash);
    return Buffer.from(contents).toString('utf8');
  },
});

/** @throws TroupeError PAYLOAD_TOO_LARGE for a long answer when the gateway has no bucket */
export const keepPayload = async (
  payloads: Payloads | undefined,
  tenant: string,
  text: string,
): Promise<Payload> => {
  if (text.length <= PAYLOAD_CHARACTERS_MAX) return { json: text };
  if (payloads === undefined) {
    throw new TroupeError(
      'PAYLOAD_TOO_LARGE',
      `the node answered with ${text.length} characters, and this gateway has no bucket for files`,
      { details: { characters: text.length, charactersMax: PAYLOAD_CHARACTERS_MAX } },
    );
  }
  return { file: await payloads.put(tenant, text), characters: text.length };
};

/** @throws TroupeError UNAVAILABLE when this gateway cannot read the answer's file */
export const readPayload = async (
  payloads: Payloads | undefined,
  tenant: string,
  payload: Payload,
): Promise<string> => {
  if ('json' in payload) return payload.json;
  if (payloads !== undefined) return payloads.get(tenant, payload.file);
  throw new TroupeError(
    'UNAVAILABLE',
    'the answer is a file, and this gateway has no bucket for files: ask another',
  );
};
