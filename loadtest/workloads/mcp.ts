/**
 * Calls of a tool over MCP: `tools/call` at `/mcp`, revision 2026-07-28, which has no sessions.
 * Success: a result that is no error and no unfinished task.
 */
import { isErrorCode, TroupeError } from '../../protocols/errors.ts';
import { bodyOf } from '../target.ts';
import type { Workload } from './workload.ts';

const REVISION = '2026-07-28';

type Answer = {
  readonly error?: { readonly message?: string; readonly data?: { readonly code?: unknown } };
  readonly result?: {
    readonly isError?: boolean;
    readonly content?: readonly { readonly text?: string }[];
  };
};

export const mcp: Workload = {
  summary: 'tools/call over MCP, until the result (no error)',
  usesModel: false,
  open(target, { tool, toolArguments }) {
    const bearer = target.bearer ?? target.secret;
    const headers = {
      ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': REVISION,
      'mcp-method': 'tools/call',
      'mcp-name': tool,
    };
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': REVISION,
      'io.modelcontextprotocol/clientInfo': { name: 'troupe-bench', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const params = { name: tool, arguments: toolArguments, _meta };
    let calls = 0;
    return {
      async send({ signal, sent }) {
        const body = JSON.stringify({ jsonrpc: '2.0', id: ++calls, method: 'tools/call', params });
        const path = '/mcp';
        check(bodyOf(await target.http({ method: 'POST', path, headers, body, signal, sent })));
      },
    };
  },
};

function check({ error, result }: Answer): void {
  if (error !== undefined) throw failure(error.data?.code, error.message);
  if (result === undefined) throw failure(undefined, 'an answer without a result');
  if (result.isError === true) {
    const text = result.content?.[0]?.text;
    throw failure(codeIn(text), text);
  }
}

/** The code of a failed tool of troupe, whose text is JSON; undefined for another tool. */
function codeIn(text = ''): unknown {
  try {
    return (JSON.parse(text) as { error?: { code?: unknown } } | null)?.error?.code;
  } catch {
    return undefined;
  }
}

const failure = (code: unknown, message = 'the call failed') =>
  new TroupeError(isErrorCode(code) ? code : 'INTERNAL', message.slice(0, 300));
