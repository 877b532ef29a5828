/**
 * References: which files of artifacts and which keys an export refers to, so that an import can
 * verify that they exist. All stored data is searched for: signed URLs of artifacts
 * (`…/{tenant}/{hash}?…`), and payloads that are sealed to a key (JWE, compact form).
 */
import type { Frame } from './frames.ts';

/** URLs are signed, so there is a query. */
const ARTIFACT = /\/([a-z0-9][a-z0-9_-]{0,62})\/([0-9a-f]{64})\?/g;
const JWE = /\b(eyJ[\w-]{20,2000})\.[\w-]{0,200}\.[\w-]{8,64}\./g;

export class References {
  /** `{tenant}/{hash}` */
  readonly artifacts = new Set<string>();
  /** ids of keys that payloads are sealed to */
  readonly keys = new Set<string>();

  look(frame: Frame): void {
    switch (frame[0]) {
      case 'mail':
        for (const [, , bytes] of frame[2]) this.#look(bytes);
        return;
      case 'rows':
        for (const part of frame[1]) if (typeof part !== 'string') this.#look(part);
        return;
      case 'letters':
        for (const [, bytes] of frame[1]) this.#look(bytes);
        return;
      case 'transcript':
        for (const bytes of frame[2]) this.#look(bytes);
        return;
      default:
    }
  }

  /** In msgpack a text is its own UTF-8. */
  #look(bytes: Uint8Array): void {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
    for (const [, tenant, hash] of text.matchAll(ARTIFACT)) this.artifacts.add(`${tenant}/${hash}`);
    for (const [, header = ''] of text.matchAll(JWE)) {
      const kid = kidIn(header);
      if (kid !== undefined) this.keys.add(kid);
    }
  }
}

function kidIn(header: string): string | undefined {
  try {
    const { kid, enc } = JSON.parse(Buffer.from(header, 'base64url').toString()) as {
      kid?: unknown;
      enc?: unknown;
    };
    return typeof kid === 'string' && enc !== undefined ? kid : undefined;
  } catch {
    return undefined;
  }
}
