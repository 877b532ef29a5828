/**
 * Sessions of MCP clients of 2025 (revisions 2025-06-18 and 2025-11-25). A session is the protocol
 * state of one client in this process: its declared capabilities and its open streams. It contains
 * no work: tasks are durable, and a client whose session is lost gets 404 and initializes again, on
 * any gateway. Clients of 2026 have no sessions.
 *
 * Invariants: a session is served only to the principal that began it; their number is bounded, of
 * one principal and in total; a session without requests ends after IDLE_MS.
 */
import { randomUUID } from 'node:crypto';
import {
  isInitializeRequest,
  type Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { TroupeError } from '../../protocols/errors.ts';
import type { Clock } from '../../runtime/index.ts';
import type { McpCaller } from './catalog.ts';

const IDLE_MS = 30 * 60_000;
const SESSIONS_MAX = 1_000;
const OWN_SESSIONS_MAX = 100;
const RETRY_MS = 10_000;
/** How often sessions that are not used are looked for. */
export const SWEEP_MS = 60_000;

type Session = {
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly owner: string;
  /** of its newest request: a token may have been renewed */
  caller: McpCaller;
  /** monotonic milliseconds */
  usedAt: number;
  /** requests and streams that have not ended */
  open: number;
};

export type SessionsOptions = {
  /** a server for a session, whose caller changes with each request */
  readonly serverFor: (caller: () => McpCaller) => Server;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** default 1,000, and 100 of one principal */
  readonly max?: { readonly all: number; readonly own: number };
};

/** A response, and what to call when it has been sent or given up. */
export type SessionAnswer = { readonly response: Response; readonly onEnd: () => void };

export class McpSessions {
  readonly #o: SessionsOptions;
  readonly #max: { readonly all: number; readonly own: number };
  readonly #sessions = new Map<string, Session>();

  constructor(options: SessionsOptions) {
    this.#o = options;
    this.#max = options.max ?? { all: SESSIONS_MAX, own: OWN_SESSIONS_MAX };
  }

  get size(): number {
    return this.#sessions.size;
  }

  /**
   * Serves a request of a 2025 client.
   * @throws TroupeError RATE_LIMIT_EXCEEDED when no session can begin
   */
  async serve(request: Request, body: unknown, caller: McpCaller): Promise<SessionAnswer> {
    const id = request.headers.get('mcp-session-id');
    const session = id === null ? undefined : this.#own(id, caller);
    if (session) return this.#handle(session, request, body, caller);
    if (id !== null) return refused(404, -32_001, 'there is no such session: initialize again');
    const first: unknown = Array.isArray(body) ? body[0] : body;
    if (!isInitializeRequest(first))
      return refused(400, -32_000, 'the header Mcp-Session-Id is missing: initialize first');
    return this.#handle(await this.#begin(caller), request, body, caller);
  }

  /** Ends the sessions that were not used for half an hour. */
  sweep(): void {
    const limit = this.#o.clock.monotonicMs() - IDLE_MS;
    for (const [id, session] of this.#sessions)
      if (session.open === 0 && session.usedAt < limit) this.#end(id, session);
  }

  close(): void {
    for (const [id, session] of this.#sessions) this.#end(id, session);
  }

  #own(id: string, caller: McpCaller): Session | undefined {
    const session = this.#sessions.get(id);
    return session?.owner === ownerOf(caller) ? session : undefined;
  }

  async #begin(caller: McpCaller): Promise<Session> {
    this.#makeRoom(ownerOf(caller));
    const id = randomUUID();
    const session: Session = {
      transport: new WebStandardStreamableHTTPServerTransport({
        sessionIdGenerator: () => id,
        onsessionclosed: () => void this.#sessions.delete(id),
      }),
      owner: ownerOf(caller),
      caller,
      usedAt: this.#o.clock.monotonicMs(),
      open: 0,
    };
    this.#sessions.set(id, session);
    await this.#o.serverFor(() => session.caller).connect(session.transport);
    return session;
  }

  async #handle(
    session: Session,
    request: Request,
    body: unknown,
    caller: McpCaller,
  ): Promise<SessionAnswer> {
    session.caller = caller;
    session.open++;
    const onEnd = () => {
      session.open--;
      session.usedAt = this.#o.clock.monotonicMs();
    };
    try {
      const options = body === undefined ? {} : { parsedBody: body };
      return { response: await session.transport.handleRequest(request, options), onEnd };
    } catch (error) {
      onEnd();
      throw error;
    }
  }

  /** Ends the session that was not used for the longest time. @throws as `serve` */
  #makeRoom(owner: string): void {
    const all = [...this.#sessions];
    const own = all.filter(([, session]) => session.owner === owner);
    const full = own.length >= this.#max.own ? own : all.length >= this.#max.all ? all : undefined;
    if (!full) return;
    const idle = full
      .filter(([, { open }]) => open === 0)
      .toSorted(([, a], [, b]) => a.usedAt - b.usedAt)[0];
    if (idle) return this.#end(...idle);
    throw new TroupeError('RATE_LIMIT_EXCEEDED', 'too many MCP sessions are open', {
      retryAfterMs: RETRY_MS,
    });
  }

  #end(id: string, { transport }: Session): void {
    this.#sessions.delete(id);
    void transport.close();
  }
}

const ownerOf = ({ tenant, sub }: McpCaller): string => `${tenant} ${sub}`;

const refused = (status: number, code: number, message: string): SessionAnswer => ({
  response: Response.json({ jsonrpc: '2.0', id: null, error: { code, message } }, { status }),
  onEnd: () => {},
});
