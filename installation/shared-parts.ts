/**
 * SharedParts: checks that the processes of a cluster share what they must: one bucket of files
 * with the same encryption, and one key for sensitive payloads. Without it a gateway cannot read
 * what a worker stored, and a worker cannot open what a gateway accepted, while each process alone
 * looks healthy.
 *
 * A process that joins puts a file into its bucket, and publishes its signed address and the key
 * that it uses. The others fetch the file and publish theirs. A process that cannot fetch it logs
 * that. It is a diagnosis only: a message may be lost, and nothing is refused.
 */
import { DEFAULT_TENANT } from '../protocols/address.ts';
import { type ErrorData, errorData } from '../protocols/errors.ts';
import type { Bus } from '../runtime/bus/bus.ts';
import type { Artifacts } from '../runtime/index.ts';

/** What a process publishes about itself. */
type Parts = {
  readonly node: string;
  readonly name: string;
  /** of the key that it publishes (RFC 7638) */
  readonly sealingKid: string;
  /** signed URL of a file that it has put into its bucket; valid for minutes */
  readonly file: string;
  /** where a gateway listens; workers write it into the URLs of files that they sign */
  readonly url?: string;
  /** requests the same from the others */
  readonly asks: boolean;
};

export type SharedPartsOptions = {
  readonly bus: Pick<Bus, 'publish' | 'subscribe'>;
  readonly cell: string;
  /** this process */
  readonly node: string;
  readonly name: string;
  readonly sealingKid: string;
  readonly artifacts: Artifacts;
  /** of a gateway: where it listens */
  readonly url?: () => string;
  /** of a worker: receives the addresses of gateways */
  readonly onGateway?: (url: string) => void;
  /** called once per process and per difference */
  readonly onDifference: (what: string) => void;
};

const SUBJECT = 'parts';
export class SharedParts {
  readonly #o: SharedPartsOptions;
  readonly #reported = new Set<string>();

  constructor(options: SharedPartsOptions) {
    this.#o = options;
  }

  /** Listens until the bus closes. Resolves when the others were notified; never rejects. */
  async open(): Promise<void> {
    this.#o.bus.subscribe(SUBJECT, ({ payload }) => {
      if (isParts(payload) && payload.node !== this.#o.node) void this.#onParts(payload);
    });
    await this.#tell(true);
  }

  async #tell(asks: boolean): Promise<void> {
    const { bus, cell, node, name, sealingKid, artifacts, url } = this.#o;
    try {
      const contents = Buffer.from(JSON.stringify({ cell }));
      const type = { contentType: 'application/json' };
      const { hash } = await artifacts.put(DEFAULT_TENANT, contents, type);
      const { artifact_uri: file } = await artifacts.sign(DEFAULT_TENANT, hash);
      const gateway = url ? { url: url() } : {};
      const parts: Parts = { node, name, sealingKid, file, ...gateway, asks };
      bus.publish(SUBJECT, parts);
    } catch (error) {
      const { message } = errorData(error);
      this.#say(`the bucket of files cannot be used: ${message}; check a2a.artifacts`);
    }
  }

  async #onParts({ name, sealingKid, file, url, asks }: Parts): Promise<void> {
    if (typeof url === 'string') this.#o.onGateway?.(url);
    if (sealingKid !== this.#o.sealingKid)
      this.#say(
        `${name} has another key for sensitive payloads: one of the two cannot open what the other accepts; configure the same a2a.sealingKeyFile for all processes`,
      );
    const error = await this.#fetch(file);
    if (error !== undefined && error.code !== 'EXPIRED')
      this.#say(
        `this process cannot read the files of ${name}: ${error.message}; configure the same a2a.artifacts with the same keys for all processes`,
      );
    if (asks) await this.#tell(false);
  }

  /** Describes the failure. */
  async #fetch(file: string): Promise<ErrorData | undefined> {
    const { artifacts } = this.#o;
    try {
      await artifacts.get(DEFAULT_TENANT, await artifacts.resolve(DEFAULT_TENANT, file));
      return undefined;
    } catch (error) {
      return errorData(error);
    }
  }

  #say(what: string): void {
    if (this.#reported.has(what)) return;
    this.#reported.add(what);
    this.#o.onDifference(what);
  }
}

const isParts = (payload: unknown): payload is Parts => {
  const { node, name, sealingKid, file } = (payload ?? {}) as Record<string, unknown>;
  return [node, name, sealingKid, file].every((field) => typeof field === 'string');
};
