/** `troupe mcp serve`: an MCP server by stdin and stdout, which is the gateway's `/mcp`. */
import { createInterface } from 'node:readline';
import { exitCodes } from '../exit.ts';
import { httpOf } from '../client/gateway-http.ts';
import { type ClientOptions, gatewayOf } from '../options.ts';
import { StdioBridge } from './stdio-bridge.ts';

export async function mcpServe(options: ClientOptions): Promise<number> {
  const { url, token, password } = await gatewayOf(options);
  const bridge = new StdioBridge({
    url: `${httpOf(url)}/mcp`,
    secret: token ?? password,
    write: (line) => void process.stdout.write(`${line}\n`),
    warn: (text) => void process.stderr.write(`troupe: ${text}\n`),
  });
  const stop = () => bridge.close();
  process.once('SIGTERM', stop).once('SIGINT', stop);
  const lines = createInterface({ input: process.stdin, crlfDelay: Infinity });
  for await (const line of lines) if (line.trim() !== '') bridge.receive(line);
  // The client has closed its end; calls that are still open get their answers.
  await bridge.settled();
  return exitCodes.ok;
}
