/**
 * The smallest MCP server on the official SDK: one tool that returns its arguments, nothing stored,
 * no caller authenticated. It is the limit for a gateway's `/mcp` on the same SDK.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createMcpHandler, fromJsonSchema, McpServer } from '@modelcontextprotocol/server';

const ECHO_SCHEMA = fromJsonSchema<{ text: string }>({
  type: 'object',
  properties: { text: { type: 'string' } },
  required: ['text'],
});

function server(): McpServer {
  const made = new McpServer({ name: 'bare', version: '1.0.0' });
  made.registerTool('echo', { description: 'Returns it', inputSchema: ECHO_SCHEMA }, (args) => ({
    content: [{ type: 'text', text: JSON.stringify(args) }],
    structuredContent: args,
  }));
  return made;
}

/** The role of the process: answers MCP at every path, and GET with an empty page. */
export function serveMcp(port: number): void {
  const handler = createMcpHandler(server);
  createServer((request, response) => {
    if (request.method === 'GET') response.end();
    else void serve(handler, request, response);
  }).listen(port, '127.0.0.1');
  process.on('disconnect', () => process.exit());
}

async function serve(
  handler: { fetch(request: Request): Promise<Response> },
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const headers = request.headers as Record<string, string>;
  const body = Buffer.concat(chunks);
  const answer = await handler.fetch(
    new Request('http://localhost', { method: 'POST', headers, body }),
  );
  const text = await answer.text();
  const { status } = answer;
  response.writeHead(status, {
    ...Object.fromEntries(answer.headers),
    'content-length': Buffer.byteLength(text),
  });
  response.end(text);
}
