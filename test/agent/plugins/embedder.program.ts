/** A program that embeds troupe: calls a tool of the plugin in the data folder, prints its text. */
import { openPlugins } from '../../../agent/plugins/open-plugins.ts';
import { loadConfig } from '../../../runtime/config/index.ts';
import { toolContext } from '../tools/tool-context.ts';

const [, , data = ''] = process.argv;
const { config } = loadConfig({ env: {}, flags: { data } });
const plugins = await openPlugins(config, {
  report: () => {},
  isTool: () => false,
  isChannel: () => false,
});
try {
  console.log((await plugins.tools[0]!.run({}, toolContext())).text);
} finally {
  await plugins.close();
}
