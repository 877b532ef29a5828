/**
 * An MCP server by stdin and stdout, on the official SDK, for tests. Each executed call adds a line
 * to the file `CALLS`.
 */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fromJsonSchema, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

const { CALLS = '', SECRET = '', STARTS, CRASH_AT_START } = process.env;
if (STARTS) appendFileSync(STARTS, `${process.pid}\n`);
console.error(`started with the secret ${SECRET}`);
if (CRASH_AT_START) process.exit(7);

const object = (properties = {}, required = []) =>
  fromJsonSchema({ type: 'object', properties, required, additionalProperties: false });
const text = (value) => ({ content: [{ type: 'text', text: String(value) }] });
const count = (name) => {
  appendFileSync(CALLS, `${name}\n`);
  return readFileSync(CALLS, 'utf8').split('\n').length - 1;
};

serveStdio(() => {
  const server = new McpServer({ name: 'test', version: '1.0.0' });
  const tool = (name, annotations, inputSchema, run) =>
    server.registerTool(name, { description: `The tool ${name}.`, annotations, inputSchema }, run);
  const reads = { readOnlyHint: true };
  tool('echo', reads, object({ text: { type: 'string' } }, ['text']), (args) => {
    count('echo');
    return text(`you said ${args.text}`);
  });
  tool('change', {}, object(), () => text(`changed, call ${count('change')}`));
  // The first call of each hangs, or ends the process.
  for (const [name, annotations] of [
    ['hang_once', {}],
    ['hang_reading', reads],
  ])
    tool(name, annotations, object(), async () => {
      if (count(name) === 1) await sleep(600_000);
      return text('done');
    });
  tool('big', reads, object(), () => {
    count('big');
    return text('x'.repeat(5 * 1_048_576));
  });
  tool('pid', reads, object(), () => text(process.pid));
  tool('whoami', reads, object(), () => text(`${SECRET} ${process.env.HOME}`));
  tool('grow', {}, object(), () => {
    if (!existsSync(`${CALLS}.grown`)) writeFileSync(`${CALLS}.grown`, '');
    server.registerTool('grown', { description: 'new', inputSchema: object() }, () => text('new'));
    return text('grown');
  });
  return server;
});
