/**
 * What an import of OpenClaw consists of: items with a source, a target, and how each is written.
 */
import type { Static, TObject, TSchema } from '@sinclair/typebox';
import { createHash } from 'node:crypto';
import type { GatewayClient } from '../../../client/gateway-client.ts';
import type { Operation } from '../../../operations/operation.ts';
import type { CommonOptions } from '../../options.ts';

export type Kind =
  | 'agent'
  | 'session'
  | 'archive'
  | 'file'
  | 'schedule'
  | 'device'
  | 'secret'
  | 'binding'
  | 'config';

/** What an item is written to. */
export type Destination = {
  readonly client: GatewayClient;
  readonly options: CommonOptions;
  /** the user confirms that OpenClaw's jobs fire here now. Default false */
  readonly enableSchedules?: boolean;
  readonly call: <P extends TObject, R extends TSchema>(
    operation: Operation<P, R>,
    params: Static<P>,
  ) => Promise<Static<R>>;
};

export type Item = {
  readonly kind: Kind;
  /** its name in OpenClaw */
  readonly id: string;
  /** its name here */
  readonly target: string;
  /** of its source */
  readonly hash: string;
  /** for the table */
  readonly detail: string;
  /**
   * Writes it. `exists`: the same one is there already.
   * @throws TroupeError when it is refused
   */
  write(to: Destination): Promise<'imported' | 'exists'>;
};

/** One line of the report. */
export type Line = {
  readonly kind: string;
  readonly id: string;
  readonly target?: string;
  /**
   * `new`: a dry run would import it; `before`: imported earlier; `changed`: its source changed
   * since, and it is not imported again; `damaged`, `refused`: a failure, with the reason
   */
  readonly status:
    | 'new'
    | 'imported'
    | 'exists'
    | 'before'
    | 'changed'
    | 'skipped'
    | 'damaged'
    | 'refused';
  readonly detail?: string;
};

export const hashOf = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('hex');
