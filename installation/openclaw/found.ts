/** What an import finds in a state folder of OpenClaw, before anything is mapped. */

/** A JSON object whose fields are not checked yet. */
export type Fields = Readonly<Record<string, unknown>>;

/** One window of a session: the time from its start, or a reset, to the next reset. */
export type FoundSession = {
  /** the agent whose folder holds it */
  readonly agentId: string;
  /** as OpenClaw writes it */
  readonly key: string;
  readonly sessionId: string;
  /** the settings of the session; those of an older window are those of its session */
  readonly entry: Fields;
  /** the newest window of the key; others are archives */
  readonly isNewest: boolean;
  /** file, or database and table, for messages */
  readonly place: string;
  /**
   * Events in their order, and `hash` of their source.
   * @throws Error when they are damaged; the message says where
   */
  read(): { readonly events: readonly Fields[]; readonly hash: string };
};

export type FoundJob = { readonly id: string; readonly job: Fields };
export type FoundDevice = { readonly id: string; readonly device: Fields };
/** `value` is never printed. */
export type FoundSecret = {
  /** of this secret among all, such as `auth-profiles:anthropic:default` */
  readonly id: string;
  /** provider of models whose key it is */
  readonly provider?: string;
  /** name of the environment variable that may hold it */
  readonly env: string;
  readonly value: string;
};

/** Something that is not imported. */
export type LeftOut = {
  readonly kind: string;
  readonly id: string;
  readonly reason: string;
  /** it could not be read, although it should be imported */
  readonly isDamaged?: true;
};

export type Layout = 'files' | 'sqlite';

/** What a reader of one layout adds to. */
export type Findings = {
  readonly layouts: Set<Layout>;
  readonly sessions: FoundSession[];
  readonly jobs: FoundJob[];
  readonly devices: FoundDevice[];
  readonly secrets: FoundSecret[];
  readonly leftOut: LeftOut[];
  /** sentences for the user, as that OpenClaw runs */
  readonly warnings: string[];
};

export const noFindings = (): Findings => ({
  layouts: new Set(),
  sessions: [],
  jobs: [],
  devices: [],
  secrets: [],
  leftOut: [],
  warnings: [],
});

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
export const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {});
export const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;
export const numberOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) ? value : undefined;
export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** @throws Error that names the place */
export function parsed(text: string, place: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new Error(`${place} is not JSON`, { cause });
  }
}
