/**
 * Endpoint: what the conformance suite talks to, over one transport. It sends bytes unchanged,
 * including invalid ones, and does not evaluate answers.
 */
import type { Envelope } from '../protocols/envelope.ts';

/** An answer. On NATS, `status` is the header with that name. */
export type Reply = {
  readonly status: number;
  /** by lower-case name */
  readonly headers: Readonly<Record<string, string>>;
  /** parsed if it is JSON, otherwise the text */
  readonly body: unknown;
  readonly ms: number;
};

export type SendOptions = {
  /** bearer token; null sends none; default the suite's own */
  readonly token?: string | null;
  readonly signature?: string;
  /** answer as soon as the envelope is accepted */
  readonly async?: boolean;
  /** tenant and domain of the NATS subject; default the envelope's */
  readonly tenant?: string;
};

export type Download = {
  readonly status: number;
  readonly bytes: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
};

export interface Endpoint {
  readonly transport: 'http' | 'nats';
  /** maximum message size of the transport; undefined: no limit */
  readonly bytesMax?: number | undefined;
  /** Sends one envelope, valid or not. Rejects when no answer arrives. */
  send(envelope: Envelope | string | object, options?: SendOptions): Promise<Reply>;
  /** Events of a task from `after` + 1 on, until it has ended or the time limit; oldest first. */
  events(
    taskId: string,
    after: number,
  ): Promise<readonly { readonly id: string; readonly data: unknown }[]>;
  /** The HTTP side of the endpoint; undefined when only NATS is available. */
  readonly http?: Http;
  close(): Promise<void>;
}

/** Requests that exist only over HTTP, whichever transport carries the envelopes. */
export interface Http {
  get(
    path: string,
    options?: { token?: string | null; headers?: Record<string, string> },
  ): Promise<Reply>;
  post(
    path: string,
    body: Uint8Array | object,
    options?: { token?: string | null; headers?: Record<string, string> },
  ): Promise<Reply>;
  /** Requests any URL, without credentials. */
  fetch(url: string, method?: string): Promise<Download>;
}
