/** `troupe bench model`: a scripted model on this machine, until a signal. */
import { SCRIPTED_MODEL, startModelServer } from '../../loadtest/model-server/server.ts';
import { scriptOf, type ScriptText } from '../../loadtest/model-server/script.ts';
import { defined } from '../../protocols/defined.ts';
import { exitCodes } from '../exit.ts';
import { printJson } from '../output.ts';
import { aborted, untilSignal } from '../processes/signals.ts';
import { whole } from './run-options.ts';

export type ModelOptions = ScriptText & {
  readonly port?: string;
  readonly seed?: string;
  readonly json?: boolean;
};

const PORT_MAX = 65_535;

/** @throws TroupeError INVALID_ARGUMENT; the system's error when the port is in use */
export async function model(options: ModelOptions): Promise<number> {
  const { latency, errors, tokens, pace } = options;
  const script = scriptOf(defined({ latency, errors, tokens, pace }));
  const port = whole(options.port, 0, 0, PORT_MAX, 'port');
  const seed = whole(options.seed, 1, 0, 2 ** 32 - 1, 'seed');
  const stop = untilSignal();
  const server = await startModelServer({ script, seed, port });
  const { models, agents } = modelSettings(server.baseUrl);
  const provider = JSON.stringify(models.providers.scripted);
  if (options.json)
    printJson({ baseUrl: server.baseUrl, model: SCRIPTED_MODEL, config: { models, agents } });
  else
    process.stdout.write(
      `The scripted model listens at ${server.baseUrl} until Ctrl-C. To use it:\n\n` +
        `  npx troupe config set models.providers.scripted '${provider}'\n` +
        `  npx troupe config set agents.defaults.model ${agents.defaults.model}\n\n` +
        'Then start troupe, or restart it.\n',
    );
  await aborted(stop);
  await server.close();
  if (!options.json) process.stderr.write(`troupe: answered ${countsText(server.counts())}\n`);
  return exitCodes.ok;
}

const countsText = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .map(([kind, count]) => `${count} ${kind}`)
    .join(', ') || 'no request';

/** What makes an installation use it. */
export const modelSettings = (baseUrl: string) => ({
  models: {
    providers: {
      scripted: { baseUrl, api: 'openai-completions', models: [{ id: SCRIPTED_MODEL }] },
    },
  },
  agents: { defaults: { model: `scripted/${SCRIPTED_MODEL}` } },
});
