/**
 * Endpoint: what the conformance suite talks to, over one transport. It hands over bytes as they
 * are, faults and all, and judges nothing.
 */
import type { Envelope } from '../protocols/envelope.ts';

/** An answer: on NATS `status` is the header of that name. */
export type Reply = {
  readonly status: number;
  /** by lower-case name */
  readonly headers: Readonly<Record<string, string>>;
  /** parsed when it is JSON, else the text */
  readonly body: unknown;
  readonly ms: number;
};

export type SendOptions = {
  /** bearer; null sends none; default the suite's own */
  readonly token?: string | null;
  readonly signature?: string;
  /** answer as soon as it is accepted */
  readonly async?: boolean;
  /** subject's tenant and domain on NATS; default the envelope's */
  readonly tenant?: string;
};

export type Download = {
  readonly status: number;
  readonly bytes: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
};

export interface Endpoint {
  readonly transport: 'http' | 'nats';
  /** the largest message that gets to it at all; undefined: any */
  readonly bytesMax?: number | undefined;
  /** One envelope, or what pretends to be one. Rejects when no answer comes. */
  send(envelope: Envelope | string | object, options?: SendOptions): Promise<Reply>;
  /** Events of a task from `after` + 1 on, until it has ended or time is up; oldest first. */
  events(
    taskId: string,
    after: number,
  ): Promise<readonly { readonly id: string; readonly data: unknown }[]>;
  /** The HTTP side of the door; undefined where only NATS is known. */
  readonly http?: Http;
  close(): Promise<void>;
}

/** What there is over HTTP only, whatever carries the envelopes. */
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
  /** Any URL, without credentials. */
  fetch(url: string, method?: string): Promise<Download>;
}
