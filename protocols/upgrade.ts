/** Formats of records, and what the processes of a cell can read and write. */

/** A layout of the entries of journals, mailboxes, transcripts and dead letters. */
export type RecordFormat = {
  readonly format: number;
  /** lowest format that a program must know to read entries of this one */
  readonly oldestReader: number;
  /** length of what precedes the body; the first seven bytes are the same in every format */
  readonly headerBytes: number;
  /** first version of troupe that reads it */
  readonly since: string;
  readonly changes: string;
};

/** Who raised the format of a cell last. */
export type Raised = {
  readonly from: number;
  /** epoch milliseconds */
  readonly at: number;
  readonly by: string;
};

/** One live process. */
export type UpgradeProcess = {
  /** stable over restarts */
  readonly name: string;
  /** `embedded`: one process has everything */
  readonly role: 'worker' | 'gateway' | 'embedded';
  /** of troupe */
  readonly version: string;
  /** newest format of records that it reads; it reads all before, too */
  readonly reads: number;
  /** the format that it writes */
  readonly writes: number;
  /** `type@version` of the actors that it can run */
  readonly types: readonly string[];
  /** the shards that it owns */
  readonly shards: readonly number[];
};

export type UpgradeStatus = {
  readonly program: {
    readonly version: string;
    /** newest format that it reads; it reads all before, too */
    readonly reads: number;
  };
  readonly cell: {
    /** format in which records are written */
    readonly format: number;
    /** lowest format that a program must read to open the cell */
    readonly minReader: number;
    /** by the last `finish` */
    readonly raised?: Raised;
  };
  /** that the program knows, in rising order */
  readonly formats: readonly RecordFormat[];
  /** [] while nothing runs */
  readonly processes: readonly UpgradeProcess[];
  readonly finish: {
    /** the newest format of the program */
    readonly to: number;
    readonly state: 'done' | 'allowed' | 'refused';
    /** of a refusal */
    readonly why?: string;
  };
};

export type Finished = UpgradeStatus & {
  /** false: it was finished before */
  readonly raised: boolean;
};
