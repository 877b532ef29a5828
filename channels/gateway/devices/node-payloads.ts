/** Answers of nodes that are too long for an actor: files of the tenant (ND1). */
import { PAYLOAD_CHARACTERS_MAX, type Payload } from '../../../protocols/device.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import type { Payloads } from './tenant-devices.ts';

/** @throws TroupeError PAYLOAD_TOO_LARGE for a long one where there are no files */
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

/** @throws TroupeError UNAVAILABLE when its file can not be read here */
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
