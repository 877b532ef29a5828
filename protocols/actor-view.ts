/** What operators see of actors: committed rows and turns. */

/** One actor in a list. */
export type ActorSummary = {
  /** tenant/type/key */
  readonly actor: string;
  /** type@version that wrote its row */
  readonly machine: string;
  /** `active`, `paused` by an operator, `suspended`, `quarantined`, `stopped`, or `done` */
  readonly status: string;
  /** state value of the machine */
  readonly state: unknown;
  /** how often its machine took an event that changed it; rises while it works */
  readonly steps: number;
  /** mailbox entries of its shard that wait for their turn */
  readonly shardLag: number;
  /** true while more may wait than `shardLag`: no owner of its shard has read its mailbox yet */
  readonly shardLagUnknown?: boolean;
  /** effects without an outcome */
  readonly effects: number;
  /** timers that have not fired */
  readonly timers: number;
  /** messages in its stash */
  readonly stashed: number;
};

export type ActorView = Omit<ActorSummary, 'effects' | 'timers' | 'stashed'> & {
  /** why it is paused, suspended or quarantined */
  readonly why?: string;
  readonly supervisor?: string;
  /** types of the messages that its present state handles; guards may still refuse one */
  readonly accepts: readonly string[];
  readonly effects: readonly ActorEffect[];
  readonly timers: readonly ActorTimer[];
  /** oldest first, at most 100 */
  readonly stash: readonly StashedMessage[];
  readonly shard: {
    readonly shard: number;
    /** `owned`, or why no process takes its turns: `unowned`, `loading`, `lost`, `quarantined` */
    readonly state: string;
    /** the process that owns it; absent where there is one process only */
    readonly node?: string;
    readonly why?: string;
  };
  /** only when requested; secrets of the installation are masked */
  readonly context?: unknown;
};

export type ActorEffect = {
  readonly id: string;
  readonly effect: string;
  /** `unknown`: it may or may not have happened, and waits for a decision */
  readonly state: 'open' | 'started' | 'unknown';
  readonly attempt: number;
  /** epoch milliseconds */
  readonly since: number;
  /** labels that it requires and no worker has; it waits for one */
  readonly lacks?: string;
};

/** Why an actor waits, for operators. */
export type ActorWait = {
  readonly kind:
    | 'status'
    | 'shard'
    | 'approval'
    | 'budget'
    | 'slot'
    | 'effect'
    | 'worker'
    | 'decision'
    | 'timer'
    | 'stash'
    | 'mailbox';
  /** one sentence */
  readonly text: string;
  /**
   * what the sentence names, for other languages: `id` and `title` of an approval; `spent` of a
   * budget; `agent`, `running` and `waiting` of a slot
   */
  readonly on?: Readonly<Record<string, string | number>>;
};

export type ActorTimer = {
  readonly event: string;
  /** epoch milliseconds */
  readonly due: number;
};

export type StashedMessage = {
  readonly type: string;
  readonly from?: string;
};

/** One committed turn of an actor. */
export type ActorTurn = {
  /** rises in the shard of the actor, with gaps */
  readonly turn: number;
  /** shard time, epoch milliseconds */
  readonly at: number;
  /** type of the event, `timer NAME`, or `outcome of EFFECT: KIND` */
  readonly input: string;
  /** type of the event as the machine received it; absent if it is not known */
  readonly event?: string;
  readonly from?: string;
  /** `applied`, `stashed`, `ignored`, `refused`, `crashed`, and others */
  readonly result: string;
  readonly why?: string;
  /** state value before the turn; absent if it is not known */
  readonly before?: unknown;
  /** state value after the turn; absent if the turn did not change the actor */
  readonly state?: unknown;
  /** context after the turn, only when requested and if the turn wrote the actor's row */
  readonly context?: unknown;
  /** status of the machine after the turn, as `active` or `done`; absent if it is not known */
  readonly status?: string;
  /**
   * state values that the machine passed through, one for each transition taken, in order; absent
   * if they are not known
   */
  readonly path?: readonly unknown[];
  /** messages sent and entries appended */
  readonly sent: readonly { readonly to: string; readonly type: string }[];
  /** names of the effects that were requested, and of those that ended */
  readonly opened: readonly string[];
  readonly ended: readonly string[];
};

/** Turns of an actor that are kept, newest first. */
export type ActorHistory = {
  /** what its type keeps of each turn */
  readonly kept: 'none' | 'summary' | 'full';
  readonly turns: readonly ActorTurn[];
  /** there are older ones: ask for those before this turn */
  readonly next?: number;
};

/** One turn of the history; with bodies only where they are kept. Known secrets are masked. */
export type ActorTurnDetail = ActorTurn & {
  /** the message as it came, or the outcome of an effect */
  readonly body?: unknown;
  /** messages sent and entries appended */
  readonly messages?: readonly { readonly to: string; readonly event: unknown }[];
  /** effects that were requested, with their inputs */
  readonly requests?: readonly { readonly effect: string; readonly input: unknown }[];
};

/** What a program needs to replay an actor. */
export type ActorRecording = {
  /** where its turns were taken: their ids contain it */
  readonly cell: string;
  readonly shard: number;
  readonly shards: number;
  /** of actors without one of their own */
  readonly supervisor?: string;
  /** how many */
  readonly turns: number;
  /** the turns with their bodies, base64 */
  readonly bytes: string;
};
