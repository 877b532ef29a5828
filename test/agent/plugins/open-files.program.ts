/**
 * A program at its limit of open files: a plugin that ends cannot be started again, and a command
 * cannot be started. Prints what happened, and what the plugin answers afterwards.
 */
import { closeSync, openSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { openPlugins } from '../../../agent/plugins/open-plugins.ts';
import { startPiped } from '../../../agent/sandbox/start-piped.ts';
import { loadConfig } from '../../../runtime/config/index.ts';
import { toolContext } from '../tools/tool-context.ts';

const [, , data = ''] = process.argv;
const { config } = loadConfig({ env: {}, flags: { data } });
const taken = { isTool: () => false, isChannel: () => false };
const plugins = await openPlugins(config, { report: () => {}, ...taken });
const call = (args: object) => plugins.tools[0]!.run(args, toolContext());
const open: number[] = [];

/** Opens files until the limit. Returns the code of the error. */
function openAll(): unknown {
  try {
    for (;;) open.push(openSync('/dev/null', 'r'));
  } catch (error) {
    return (error as { code?: string }).code;
  }
}

const lastError = () => plugins.rows()[0]?.lastError?.message;

try {
  console.log((await call({})).text);
  const ended = call({ exit: true }).catch((error: Error) => console.log(error.message));
  console.log(openAll());
  await ended;
  // The end of the process closes its pipes, some later.
  openAll();
  await startPiped('/bin/true', [], { env: {} }).catch((error: Error) =>
    console.log(error.message),
  );
  for (; !lastError()?.includes('cannot be started'); await setTimeout(20)) openAll();
  console.log(lastError());
  for (const one of open) closeSync(one);
  while (plugins.rows()[0]?.state !== 'running') await setTimeout(20);
  console.log((await call({})).text);
} finally {
  await plugins.close();
}
