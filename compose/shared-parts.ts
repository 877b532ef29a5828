/**
 * SharedParts: finds out whether the processes of a cluster have in common what they must: one
 * bucket of files, sealed alike, and one key for sensitive payloads. Without it a gateway cannot
 * read what a worker stored, and a worker cannot open what a gateway let in; and each of them by
 * itself looks well.
 *
 * A process that comes puts a file into its bucket and tells the others its signed address and
 * which key it publishes; they fetch the file as they would any other, and tell theirs. Who cannot
 * fetch it says so in its log. Nothing rests on it: a message may be lost, and nobody is refused.
 */
import { DEFAULT_TENANT } from '../protocols/address.ts';
import { type ErrorData, errorData } from '../protocols/errors.ts';
import type { Bus } from '../runtime/bus/bus.ts';
import type { Artifacts } from '../runtime/index.ts';

/** What a process tells of itself. */
type Parts = {
  readonly node: string;
  readonly name: string;
  /** of the key that it publishes (RFC 7638) */
  readonly sealingKid: string;
  /** signed address of a file that it has put into its bucket; good for minutes */
  readonly file: string;
  /** where a gateway listens; workers write it into the URLs of files that they sign */
  readonly url?: string;
  /** the others shall tell theirs */
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
  /** of a worker: receives where each gateway listens */
  readonly onGateway?: (url: string) => void;
  /** told once of each process and each difference */
  readonly onDifference: (what: string) => void;
};

const SUBJECT = 'parts';
export class SharedParts {
  readonly #o: SharedPartsOptions;
  readonly #told = new Set<string>();

  constructor(options: SharedPartsOptions) {
    this.#o = options;
  }

  /** Listens as long as there is a bus. Resolves when the others were told; never rejects. */
  async open(): Promise<void> {
    this.#o.bus.subscribe(SUBJECT, ({ payload }) => {
      if (isParts(payload) && payload.node !== this.#o.node) void this.#hear(payload);
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
      this.#say(`the bucket of files cannot be used: ${message}; look at a2a.artifacts`);
    }
  }

  async #hear({ name, sealingKid, file, url, asks }: Parts): Promise<void> {
    if (typeof url === 'string') this.#o.onGateway?.(url);
    if (sealingKid !== this.#o.sealingKid)
      this.#say(
        `${name} has another key for sensitive payloads: one of the two cannot open what the other lets in; give all processes the same a2a.sealingKeyFile`,
      );
    const error = await this.#fetch(file);
    if (error !== undefined && error.code !== 'EXPIRED')
      this.#say(
        `this process cannot read the files of ${name}: ${error.message}; give all processes the same a2a.artifacts, with the same keys`,
      );
    if (asks) await this.#tell(false);
  }

  /** What went wrong. */
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
    if (this.#told.has(what)) return;
    this.#told.add(what);
    this.#o.onDifference(what);
  }
}

const isParts = (payload: unknown): payload is Parts => {
  const { node, name, sealingKid, file } = (payload ?? {}) as Record<string, unknown>;
  return [node, name, sealingKid, file].every((field) => typeof field === 'string');
};
