/**
 * LiveConfig: the configuration in effect in this process. It starts as the process was started and
 * follows the file (config-watch.ts) and the settings of the whole cluster (cluster-settings.ts).
 *
 * Invariants:
 *  1. Only a configuration that passed every check takes effect; otherwise the last valid one
 *     stays.
 *  2. Parts of the process receive changes one after the other, each with the whole configuration.
 *  3. A setting of the cluster wins over the file, the environment and the flags of a process.
 *  4. Nothing here contains a secret but the configuration itself: logs name keys, not values.
 */
import {
  type Config,
  type ConfigChange,
  type Problem,
  changesOf,
  ownSections,
  problemText,
  showPointer,
} from '../../runtime/config/index.ts';
import type { ClusterValues } from '../../protocols/settings.ts';
import type { ConfigurationStatus } from '../../operations/operation.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { withValues } from './with-values.ts';

export type LiveConfigOptions = {
  readonly config: Config;
  /** the agents of a cluster are in its root actor, which only `troupe config apply` changes */
  readonly clustered: boolean;
  readonly log: {
    info(facts: object, message: string): void;
    warn(facts: object, message: string): void;
  };
};

/** Changes a part of the process. @param by who changed the configuration */
export type Apply = (now: Config, by: string) => void | Promise<void>;

const NO_VALUES = { version: 0, values: {} } as const;

export class LiveConfig {
  readonly #o: LiveConfigOptions;
  readonly #parts: { readonly when: 'process' | 'agents'; readonly apply: Apply }[] = [];
  #file: Config;
  #now: Config;
  #problems: ConfigurationStatus['problems'] = [];
  #cluster: ConfigurationStatus['cluster'] = NO_VALUES;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: LiveConfigOptions) {
    this.#o = options;
    this.#file = options.config;
    this.#now = options.config;
  }

  /**
   * The newest valid configuration. Its keys that are applied `at once` are in effect; the others
   * are those of the next start.
   */
  get now(): Config {
    return this.#now;
  }

  get clusterVersion(): number {
    return this.#cluster.version;
  }

  /** Calls `apply` after each change of a key of that kind. */
  onChange(when: 'process' | 'agents', apply: Apply): void {
    this.#parts.push({ when, apply });
  }

  status(): ConfigurationStatus {
    const { config, clustered } = this.#o;
    const changes = changesOf(config, this.#now);
    const paths = (found: readonly ConfigChange[]) =>
      found.map(({ pointer }) => showPointer(pointer));
    return {
      restartNeeded: paths(changes.filter((one) => this.#kindOf(one) === 'restart')),
      applyNeeded: paths(clustered ? changes.filter((one) => this.#kindOf(one) === 'agents') : []),
      problems: this.#problems,
      cluster: this.#cluster,
    };
  }

  /** The file has another valid content. Resolves when it is in effect. */
  fileChanged(file: Config, by: string): Promise<void> {
    return this.#inTurn(() => {
      this.#problems = [];
      this.#file = file;
      return this.#apply(this.#withCluster(file), by, 'the configuration file changed');
    });
  }

  /** The file has content that cannot be used: the running values stay. */
  fileRefused(problems: readonly Problem[]): void {
    this.#problems = problems.map((problem) => ({ ...problem, message: problemText(problem) }));
    const all = this.#problems.map(({ path, message, where }) =>
      [where, path, message].filter(Boolean).join(' '),
    );
    this.#o.log.warn(
      { alarm: true, problems: all.length },
      `the configuration file is not valid, and the running values stay: ${all.join('; ')}`,
    );
  }

  /** Other values were set for the whole cluster. Resolves when they are in effect. */
  clusterChanged(cluster: ConfigurationStatus['cluster'], by: string): Promise<void> {
    return this.#inTurn(() => {
      this.#cluster = cluster;
      const what = `version ${cluster.version} of the settings of the cluster`;
      return this.#apply(this.#withCluster(this.#file), by, what);
    });
  }

  /** @throws TroupeError INVALID_ARGUMENT for values that this process could not apply */
  assertValues(values: ClusterValues): void {
    const made = withValues(this.#file, values);
    if ('problem' in made) throw new TroupeError('INVALID_ARGUMENT', made.problem);
  }

  #withCluster(file: Config): Config {
    const { version, values } = this.#cluster;
    const made = withValues(file, values);
    if ('config' in made) return made.config;
    this.#o.log.warn(
      { alarm: true },
      `version ${version} of the settings of the cluster does not fit the configuration of this process, which ignores it: ${made.problem}`,
    );
    return file;
  }

  async #apply(next: Config, by: string, what: string): Promise<void> {
    const changes = changesOf(this.#now, next);
    this.#now = next;
    if (changes.length === 0) return;
    const { clustered, log } = this.#o;
    const of = (kind: string) => changes.filter((one) => this.#kindOf(one) === kind);
    const [atOnce, agents, later] = [of('process'), of('agents'), of('restart')];
    for (const { when, apply } of this.#parts)
      if (when === 'process' ? atOnce.length > 0 : agents.length > 0 && !clustered)
        await apply(next, by);
    const names = (found: readonly ConfigChange[]) =>
      found.map(({ pointer }) => showPointer(pointer)).join(', ');
    const { restartNeeded } = this.status();
    // A key that has its value of the start again is in effect.
    const waits = ({ pointer }: ConfigChange) => restartNeeded.includes(showPointer(pointer));
    const inEffect = [
      ...atOnce,
      ...(clustered ? [] : agents),
      ...later.filter((one) => !waits(one)),
    ];
    const waiting = later.filter(waits);
    const lines = [
      inEffect.length > 0 && `in effect: ${names(inEffect)}`,
      clustered && agents.length > 0 && `for troupe config apply: ${names(agents)}`,
      waiting.length > 0 && `restart needed: ${names(waiting)}`,
    ];
    log.info({ configuration: true, by }, `${what}; ${lines.filter(Boolean).join('; ')}`);
  }

  /** Parts of a tenant that had none at the start are created by the next one. */
  #kindOf({ pointer, when }: ConfigChange): ConfigChange['when'] {
    const [, tenant, section] = /^\/tenants\/([^/]+)\/([^/]+)/.exec(pointer) ?? [];
    if (tenant === undefined || section === undefined) return when;
    const owned: readonly string[] = ownSections(this.#o.config, tenant);
    return owned.includes(section) ? when : 'restart';
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const next = this.#last.then(work);
    this.#last = next.catch(() => {});
    return next;
  }
}
