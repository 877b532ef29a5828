/** startTroupe: the assistant platform in a program of your own, from plain settings. */
import { defined } from '../protocols/defined.ts';
import type { ActionDefinition } from '../actors/task/action.ts';
import type { ProcessDefinition } from '../actors/process/define.ts';
import type { Tool } from '../agent/tools/tool.ts';
import type { SystemOptions } from '../runtime/system-options.ts';
import type { System } from '../runtime/system.ts';
import type { TroupeError } from '../protocols/errors.ts';
import { reportFailed, reportUrl } from './dev-reports.ts';

export type StartOptions = {
  /** data folder, used by one process at a time; created if absent */
  readonly data: string;
  /** of the gateway, on the loopback interface; 0: any free port. Default 18,789 */
  readonly port?: number;
  /** path of a configuration file (docs/config.md); default `troupe.json5` in the data folder */
  readonly configFile?: string;
  /** the configuration itself, in the form of the file; no file is read */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** variables that the configuration refers to, such as keys of models; default: of the process */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** types of actors, in addition to the shipped ones */
  readonly actors?: SystemOptions['actors'];
  /** tools for models, in addition to the shipped ones */
  readonly tools?: readonly Tool[];
  /** actions that other programs may request */
  readonly actions?: readonly ActionDefinition[];
  /** sagas over actions */
  readonly processes?: readonly ProcessDefinition[];
};

export type Troupe = {
  /** of the page, without a secret */
  readonly url: string;
  /** what clients present to the gateway; it is also in the file `token` of the data folder */
  readonly token: string | undefined;
  readonly system: System;
  /**
   * Resolves when the store failed: everything is refused then, nothing accepted is lost, and the
   * process has to be started again. Never rejects.
   */
  readonly failed: Promise<TroupeError>;
  /**
   * Notifies clients, accepts nothing new, commits running turns, closes the stores. May be
   * repeated.
   */
  stop(): Promise<void>;
};

/**
 * Starts agents, sessions, channels and the gateway in this process. Without a model in the
 * settings, the offline model answers.
 *
 * @throws TroupeError when the data folder or the port is in use; everything opened before is
 *   closed. ConfigError with every problem of the settings
 * @example
 * ```ts
 * import { startTroupe } from 'troupe/agents';
 *
 * const troupe = await startTroupe({
 *   data: 'data',
 *   port: 0,
 *   settings: { log: { level: 'warn' } },
 * });
 * assert.equal((await fetch(troupe.url)).status, 200);
 * await troupe.stop();
 * ```
 */
export async function startTroupe(options: StartOptions): Promise<Troupe> {
  const { data, port, configFile: file, settings, env, ...parts } = options;
  const { actors, tools, actions, processes } = parts;
  const [platform, { ensureToken, loadConfig, noteOwnTools }, { startRules }, notes] =
    await Promise.all([
      import('../compose/embedded.ts'),
      import('../runtime/config/index.ts'),
      import('../installation/start-rules.ts'),
      import('../installation/running-gateway.ts'),
    ]);
  const ownTools = (tools ?? []).map(({ name }) => name);
  const flags = defined({ data, port });
  const load = () =>
    loadConfig(defined({ file, settings, env, flags, rules: startRules, ownTools }));
  const loaded = load();
  const config = ensureToken(loaded.config);
  const own = defined({ actors, tools, actions, processes });
  const troupe = await platform.startTroupe(config, own, {
    file: loaded.file,
    ...(settings === undefined && { reload: () => load().config }),
  });
  const { url, system, failed } = troupe;
  // So that they accept its tools in the configuration.
  noteOwnTools(config.home, ownTools);
  const token = config.gateway.auth.token?.reveal();
  // So that `troupe open`, `troupe chat` and other commands find it.
  const forget = notes.noteRunningGateway(config.home, url);
  reportUrl(url, token, actors?.[0]?.type);
  void failed.then(reportFailed);
  const stop = (): Promise<void> => {
    forget();
    return troupe.stop();
  };
  return { url, token, system, failed, stop };
}
