/**
 * Mutants: the mistakes this protocol must not make, as changes of real lines. Production code has
 * no switches for them: each trial runs a bundle with the changed line. `find` occurs exactly once
 * in its file, else the mutant is stale and the run says so.
 */
export type Change = { readonly file: string; readonly find: string; readonly replace: string };

export type Mutant = {
  readonly name: string;
  /** the rule or invariant that the line upholds */
  readonly breaks: string;
  /** more than one where two lines guard the same rule */
  readonly changes: readonly Change[];
  /**
   * a seed that caught it before; it runs first, which saves a minute where most seeds miss the
   * fault
   */
  readonly seed?: number;
  /** a test file that must fail instead, where the simulation does not run the changed lines */
  readonly test?: string;
  /** words of the name of a test of it that failed before; it runs first */
  readonly first?: string;
};

const SHARD = 'runtime/shard';
const LOG = 'runtime/log';
const LEASES = 'test/agent-runs/standing-leases.test.ts';
const DAMAGE = 'test/runtime/log/wal-store.test.ts';

export const mutants: readonly Mutant[] = [
  {
    name: 'no fence',
    breaks: 'I1, A3: the append does not carry the position of the record before it',
    changes: [
      { file: `${SHARD}/commit/journal.ts`, find: 'expectedLast: this.last,', replace: '' },
    ],
  },
  {
    name: 'answer before write',
    breaks: 'P1: an append is answered although its frame was not written',
    changes: [
      {
        file: `${LOG}/embedded-log.ts`,
        find: '    const { frame, stored } = layOut(plan);\n',
        replace:
          '    const { frame, stored } = layOut(plan);\n    for (const { append, answer } of decided) append.answer(answer);\n',
      },
    ],
  },
  {
    name: 'answer before sync',
    breaks: 'durability power: an append is answered before its frame is on the disk',
    seed: 12,
    changes: [
      {
        file: `${LOG}/embedded-log.ts`,
        find: 'if (!this.#o.isSynced) return this.#show(batch);',
        replace: 'return this.#show(batch);',
      },
    ],
  },
  {
    name: 'checkpoint too high',
    breaks: 'T6: a checkpoint names a frame that it does not contain',
    changes: [
      {
        file: `${LOG}/wal-store.ts`,
        find: 'const frame = this.log.shownFrame;',
        replace: 'const frame = this.log.shownFrame + 1;',
      },
    ],
  },
  {
    name: 'segment removed too early',
    breaks: 'T6: segments are removed before their checkpoint is committed',
    changes: [
      {
        file: `${LOG}/wal-store.ts`,
        find: 'await this.#commit(writes);',
        replace: 'await this.#wal.removeUpTo(frame);\n    await this.#commit(writes);',
      },
    ],
  },
  {
    name: 'frame without checksum',
    breaks: 'P3: a damaged frame is read as if it were whole',
    test: DAMAGE,
    first: 'a frame is damaged that a later one names',
    changes: [
      {
        file: `${LOG}/wal/frame.ts`,
        find: '  if (bytes.readUInt32LE(4) !== crc32(bytes.subarray(CRC_END))) return undefined;\n',
        replace: '',
      },
    ],
  },
  {
    name: 'lease honoured after revocation',
    breaks: 'a run begins under a standing lease that its agent does not give any more',
    test: LEASES,
    first: 'starts no run once its row says',
    changes: [
      {
        file: 'actors/session/effects/check-lease.ts',
        find: 'if (row?.standing === id) return;',
        replace: 'if (row !== undefined) return;',
      },
    ],
  },
  {
    name: 'lease despite a limit',
    breaks:
      'an agent with a limit or a budget gives a standing lease, under which it counts no run',
    test: LEASES,
    first: 'admits each run',
    changes: [
      {
        file: 'actors/agent/slots.ts',
        find: 'return isLimited ? undefined : contentHashOf',
        replace: 'return contentHashOf',
      },
    ],
  },
  {
    name: 'no link dedupe',
    breaks: 'I3, E1: a link item is applied whatever its number is',
    changes: [
      {
        file: `${SHARD}/input/on-mail.ts`,
        find: 'if (n !== group.accepted(link) + 1) return false;',
        replace: '',
      },
    ],
  },
  {
    name: 'no key dedupe',
    breaks: 'I3, F3: a repeated idempotency key is a new message',
    changes: [
      {
        file: `${SHARD}/turn/keys.ts`,
        find: "if (!row) return { kind: 'new' };",
        replace: "if (!row || row) return { kind: 'new' };",
      },
    ],
  },
  {
    name: 'outputs before the commit',
    breaks: 'I2, C1: answers and effects leave before the record is known to count',
    changes: [
      {
        file: `${SHARD}/owned-shard.ts`,
        find: 'const stored = await this.#writer.write(record, onCounts);',
        replace:
          "if (record.t === 'TURNS') this.#after.run(after, 0);\n      const stored = await this.#writer.write(record, onCounts);",
      },
    ],
  },
  {
    name: 'no outbox replay',
    breaks: 'A5: a new owner does not send again what was not settled',
    changes: [
      {
        file: `${SHARD}/owned-shard.ts`,
        find: 'for (const { value } of this.#fold.committedRows(TABLE.out)) this.#relay.add(decodeOut(value));',
        replace: '',
      },
    ],
  },
  {
    name: 'early trim',
    breaks: 'T2, V7: the journal is trimmed when a snapshot begins, not when its record counts',
    changes: [
      {
        file: `${SHARD}/recovery/retention.ts`,
        find: '    this.#writing = true;\n',
        replace:
          '    this.#writing = true;\n    this.#trim(position, this.#o.fold.scalars.mailFloor, 0);\n',
      },
    ],
  },
  {
    name: 'mailbox floor at the first item',
    breaks: 'B1: the floor passes an entry when its first item has its turn',
    seed: 9,
    changes: [
      {
        file: `${SHARD}/input/mailbox-input.ts`,
        find: '  if (!last) return;\n',
        replace: '  if (last === undefined) return;\n',
      },
    ],
  },
  {
    name: 'unknown append counted as committed',
    breaks: 'C3: the fate of an append is guessed, not read',
    changes: [
      {
        file: `${SHARD}/commit/journal.ts`,
        find: 'const found = await this.#find(recId);',
        replace: 'const found = this.#committed(this.last + 1);',
      },
    ],
  },
  {
    name: 'once without its Start',
    breaks: 'G3: a `once` effect begins before its Start is committed',
    changes: [
      {
        file: `${SHARD}/commit/after-commit.ts`,
        find: "if (intent.cls === 'once' && intent.state === 'open') {\n      this.#starts",
        replace: "if (intent.cls === 'once' && intent.state === 'unknown') {\n      this.#starts",
      },
    ],
  },
  {
    name: 'unknown effects run again',
    breaks: 'G4: a new owner starts a `once` effect that an earlier one had started',
    seed: 7,
    changes: [
      {
        file: `${SHARD}/commit/after-commit.ts`,
        find: "if (intent.state !== 'started') this.#begin(id, intent);",
        replace: "if (intent.state !== 'unknown') this.#begin(id, intent);",
      },
    ],
  },
  {
    name: 'timers without a generation',
    breaks: 'H2: a timer that was cancelled or armed again still fires',
    seed: 16,
    changes: [
      {
        file: `${SHARD}/turn/requests.ts`,
        find: 'return t.draft.put(TABLE.timer, timerId(request.due, address, actor.life, request.key), null);',
        replace: 'return;',
      },
      {
        file: 'runtime/statechart/host.ts',
        find: 'return armed?.key === timer.key && !armed.fired',
        replace: 'return armed',
      },
    ],
  },
  {
    name: 'refused append sent again behind the other',
    breaks: 'A4: a refusal means another owner, not a position to correct',
    seed: 6,
    changes: [
      {
        file: `${SHARD}/commit/journal.ts`,
        find: "return { kind: 'lost', why: `another owner wrote record ${entry.position}` };",
        replace: "this.last = entry.position;\n    return { kind: 'absent' };",
      },
    ],
  },
  {
    name: 'link marks not in the record',
    breaks: 'V8, E1: what was accepted is known to this process only',
    changes: [
      {
        file: `${SHARD}/commit/fold.ts`,
        find: 'r.linkIn.forEach(raise(s.linkIn));',
        replace: '',
      },
    ],
  },
  {
    name: 'snapshot beside an open group',
    breaks: 'T1: rows of turns that are not committed are written as if they were',
    seed: 21,
    changes: [
      {
        file: `${SHARD}/owned-shard.ts`,
        find: 'return this.#snapshot !== undefined && !this.#group?.dirty;',
        replace: 'return this.#snapshot !== undefined;',
      },
    ],
  },
  {
    name: 'the clock of a worker as the time of its shard',
    breaks: 'H1, I6: an owner whose clock is wrong moves the time of the shard permanently',
    changes: [
      {
        file: `${SHARD}/shard-time.ts`,
        find: '(isLocal ? clock.wallMs() : clock.monotonicMs() + this.#offsetMs)',
        replace: 'clock.wallMs()',
      },
    ],
  },
  {
    name: 'mailbox trimmed to what is read',
    breaks: 'T3, V7: what an owner has read, but not committed, is gone for the next one',
    changes: [
      {
        file: `${SHARD}/input/mail-reader.ts`,
        find: 'for (const entry of entries) this.#split(entry);',
        replace:
          'for (const entry of entries) this.#split(entry);\n    this.trim?.(entries.at(-1).position - 1);',
      },
      {
        file: `${SHARD}/input/mail-reader.ts`,
        find: '    this.#follow = options.log.follow(options.subject, options.from);\n',
        replace:
          '    this.#follow = options.log.follow(options.subject, options.from);\n    this.trim = (upTo) => options.log.trim(options.subject, upTo).catch(() => {});\n',
      },
    ],
  },
  {
    name: 'a replaced owner never stops',
    breaks: 'A7: an owner with nothing to append never looks whether it still owns',
    seed: 5,
    changes: [
      {
        file: `${SHARD}/recovery/upkeep.ts`,
        find: 'if (!options.log.atomic) this.#probe();',
        replace: '',
      },
    ],
  },
  {
    name: 'a poisoned repeat',
    seed: 9,
    breaks: 'K2, E1: an input that has its turn is made poison',
    changes: [
      {
        file: `${SHARD}/input/mailbox-input.ts`,
        find: "if (body.kind === 'item' && !acceptLinkItem(group, body)) return;",
        replace:
          "if (body.kind === 'item' && !acceptLinkItem(group, body) && by === byMachine) return;",
      },
    ],
  },
  {
    name: 'stash released after the mail',
    seed: 538,
    breaks: 'I4, B3: a message that waited is overtaken by one that was sent after it',
    changes: [
      {
        file: `${SHARD}/commit/group.ts`,
        find: 'if (draft.unstash) this.#unstash.add(draft.unstash);',
        replace:
          'if (draft.unstash) { const actor = draft.unstash; setImmediate(() => this.#unstash.add(actor)); }',
      },
    ],
  },
  {
    name: 'a sender named like a person',
    breaks:
      'a sender whose id equals a name of session.identityLinks enters the session of that person',
    test: 'test/runtime/config/routing.test.ts',
    changes: [
      {
        file: 'runtime/config/routing.ts',
        find: "return id.includes(':') || Object.hasOwn(links, id) ? peer : id;",
        replace: 'return id;',
      },
    ],
  },
  {
    name: 'a pairing against the list',
    breaks: 'the policy allowlist admits a sender that was approved under the policy pairing',
    test: 'test/runtime/config/admission.test.ts',
    changes: [
      {
        file: 'runtime/config/admission.ts',
        find: "if (dmPolicy === 'allowlist') return 'dm.allowlist';",
        replace: '',
      },
    ],
  },
  {
    name: 'an empty folder for files that are gone',
    breaks: 'a named folder that disappeared is made again, and the agent works without its files',
    test: 'test/runtime/workspaces/folder.test.ts',
    first: 'while their storage is unreachable',
    changes: [
      {
        file: 'runtime/workspaces/folder.ts',
        find: 'if (isOwn && (await exists(counter))) throw missing(files);',
        replace: '',
      },
    ],
  },
  {
    name: 'activity of a schedule',
    breaks: 'messages of schedules keep a session from expiring',
    test: 'test/actors/session/expiry.test.ts',
    first: 'only messages of people count',
    changes: [
      {
        file: 'actors/session/queue/expiry.ts',
        find: '!origin && !terms && channel !== SCHEDULE;',
        replace: '!origin && !terms;',
      },
    ],
  },
];
