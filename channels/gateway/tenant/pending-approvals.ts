/**
 * Approvals of commands that wait for an operator. It notifies operators, and reads the committed
 * rows of `approvals`; the approval actor decides.
 *
 * Boundary: covers approvals that offer `allow-once`, which runs request. Others are decided with
 * `troupe approvals`.
 *
 * Invariants: each connected operator is notified once when an approval is requested and once when
 * it ends, whatever the entry point of the decision. While one is pending, the rows are polled, so
 * that nothing depends on an event of the Bus.
 */
import {
  type ApprovalRow,
  APPROVALS_INDEX,
  TITLE_CHARACTERS_MAX,
} from '../../../protocols/approval.ts';
import {
  EXEC_DECISIONS,
  type ExecApproval,
  type ExecApprovalResolved,
  type ExecDecision,
} from '../../../protocols/gateway/index.ts';
import type { Clock, Index } from '../../../runtime/index.ts';
import { type Connection, eventHead } from '../transport/connection.ts';
import { APPROVAL_READS_MAX, APPROVAL_POLL_MS, APPROVALS_READ_MAX } from '../limits.ts';
import { agentOf } from '../../../operations/sessions/session-key.ts';

export class PendingApprovals {
  readonly #index: Index;
  readonly #tenant: string;
  readonly #clock: Clock;
  readonly #connections: Iterable<Connection>;
  /** pending approvals that were published to operators, by id */
  readonly #open = new Map<string, ApprovalRow>();
  /** reported approvals without a row yet, with the number of reads */
  readonly #expected = new Map<string, number>();
  #cancelPoll: (() => void) | undefined;

  constructor(index: Index, tenant: string, clock: Clock, connections: Iterable<Connection>) {
    this.#index = index;
    this.#tenant = tenant;
    this.#clock = clock;
    this.#connections = connections;
  }

  /** A run reports that it waits for this approval. */
  onNotice(id: string): void {
    if (this.#open.has(id)) return;
    this.#expected.set(id, 0);
    this.#readRows();
  }

  /** Pending approvals, the oldest first. */
  list(): readonly ExecApproval[] {
    for (const row of this.#readAll()) if (row.state === 'asked') this.#onRequested(row);
    this.#readRows();
    return [...this.#open.values()]
      .toSorted((a, b) => (a.asked_at < b.asked_at ? -1 : 1))
      .map(approvalOf);
  }

  row(id: string): ApprovalRow | undefined {
    const row = this.#index.get<ApprovalRow>(APPROVALS_INDEX, this.#tenant, id);
    return row && isOfRun(row) ? row : undefined;
  }

  /** Pending approvals of a node, if their rows are committed. */
  ofNode(deviceId: string): readonly ApprovalRow[] {
    return [...this.#open.values()].filter((row) => nodeOf(row) === deviceId);
  }

  /**
   * Resolves with the row when the approval is decided; immediately if it already is. Resolves with
   * undefined when it does not exist. When the signal aborts, resolves with the current row.
   */
  async decided(id: string, signal: AbortSignal): Promise<ApprovalRow | undefined> {
    this.onNotice(id);
    for (;;) {
      const row = this.row(id);
      if (signal.aborted || (row !== undefined && row.state !== 'asked')) return row;
      if (row === undefined && !this.#expected.has(id)) return undefined;
      await new Promise<void>((resolve) => {
        const end = () => {
          cancel();
          signal.removeEventListener('abort', end);
          resolve();
        };
        const cancel = this.#clock.after(APPROVAL_POLL_MS, end);
        signal.addEventListener('abort', end);
      });
    }
  }

  /** Reads the rows now, because something may have changed. */
  refresh(): void {
    this.#readRows();
  }

  close(): void {
    this.#cancelPoll?.();
  }

  *#readAll(): Generator<ApprovalRow> {
    const page = this.#index.list<ApprovalRow>(APPROVALS_INDEX, this.#tenant, {
      limit: APPROVALS_READ_MAX,
    });
    for (const { value } of page) if (isOfRun(value)) yield value;
  }

  #readRows(): void {
    for (const [id, reads] of this.#expected) {
      const row = this.row(id);
      if (row === undefined && reads < APPROVAL_READS_MAX) {
        this.#expected.set(id, reads + 1);
        continue;
      }
      this.#expected.delete(id);
      if (row?.state === 'asked') this.#onRequested(row);
    }
    for (const id of this.#open.keys()) {
      const row = this.row(id);
      if (row?.state !== 'asked') this.#onResolved(id, row);
    }
    this.#poll();
  }

  #onRequested(row: ApprovalRow): void {
    if (this.#open.has(row.id)) return;
    this.#open.set(row.id, row);
    this.#publish('exec.approval.requested', approvalOf(row));
  }

  /** A missing row was decided long ago and has been deleted. */
  #onResolved(id: string, row: ApprovalRow | undefined): void {
    const asked = this.#open.get(id)!;
    this.#open.delete(id);
    const payload: ExecApprovalResolved = {
      id,
      decision: row?.state === 'expired' ? null : decisionOf(row?.decision),
      resolvedBy: row?.decided_by ?? null,
      ts: this.#clock.wallMs(),
      request: approvalOf(asked).request,
    };
    this.#publish('exec.approval.resolved', payload);
  }

  #publish(event: string, payload: object): void {
    const head = eventHead(event, payload);
    for (const connection of this.#connections) {
      if (mayDecide(connection)) connection.event(head);
    }
  }

  #poll(): void {
    if (this.#open.size === 0 && this.#expected.size === 0) return;
    this.#cancelPoll ??= this.#clock.after(APPROVAL_POLL_MS, () => {
      this.#cancelPoll = undefined;
      this.#readRows();
    });
  }
}

/** Approvals are published to clients that may decide them. */
export const mayDecide = ({ client }: Connection): boolean =>
  client !== undefined &&
  client.scopes.some((scope) => scope === 'operator.approvals' || scope === 'operator.admin');

const isOfRun = ({ options }: ApprovalRow): boolean =>
  options.some(({ name }) => name === 'allow-once');

export const decisionOf = (name: string | undefined): ExecDecision | null =>
  EXEC_DECISIONS.find((each) => each === name) ?? null;

/**
 * The command of an approval. A session's title starts with the requesting agent, which has its own
 * field here. If the title is truncated, the detail contains the complete command.
 */
const commandOf = ({ title, detail }: ApprovalRow): string =>
  title.length < TITLE_CHARACTERS_MAX - 1 ? title.replace(/^\S+ wants to run: /, '') : detail;

/**
 * The id of the requesting device, if a device requested it: the node method sets this principal.
 */
export const nodeOf = ({ by }: ApprovalRow): string | undefined =>
  /^node:([0-9a-f]{64})$/.exec(by)?.[1];

/** The principal of a node's approval requests. */
export const nodePrincipal = (deviceId: string): string => `node:${deviceId}`;

/** A row in the shape of the gateway protocol. */
export const approvalOf = (row: ApprovalRow): ExecApproval => {
  const sessionKey = /^[^/]+\/session\/(.+)$/.exec(row.by)?.[1] ?? null;
  return {
    id: row.id,
    request: {
      command: commandOf(row),
      detail: row.detail,
      host: nodeOf(row) === undefined ? 'gateway' : 'node',
      agentId: (sessionKey === null ? undefined : agentOf(sessionKey)) ?? null,
      sessionKey,
      allowedDecisions: EXEC_DECISIONS.filter((decision) =>
        row.options.some(({ name }) => name === decision),
      ),
    },
    createdAtMs: Date.parse(row.asked_at),
    expiresAtMs: Date.parse(row.expires_at),
  };
};
