/**
 * Reads and changes the configuration of a process for operators at a gateway (`config.*`): the
 * content of the file without its secrets. A change is applied as the schema declares it, and the
 * answer names what waits for the next start.
 */
import JSON5 from 'json5';
import { defined } from '../../protocols/defined.ts';
import { TroupeError } from '../../protocols/errors.ts';
import {
  CONFIG_REDACTED,
  type ConfigPatchParams,
  type ConfigSetParams,
  type ConfigSnapshot,
  type ConfigWritten,
} from '../../protocols/gateway/index.ts';
import type { ConfigSetup } from '../../channels/index.ts';
import {
  type Config,
  type ConfigError,
  configSchema,
  problemText,
  Secret,
} from '../../runtime/config/index.ts';
import { leaves, showPointer, valueAt } from '../../runtime/config/pointer.ts';
import { whenApplied } from '../../runtime/config/index.ts';
import { type ConfigFile, type Document, type FileText, textOf } from './config-file.ts';
import { lookup, schemaForPeople } from './config-schema.ts';
import { mergePatch } from './merge-patch.ts';
import { redact, redactText, restore, restoreText } from './redaction.ts';

export type ConfigEditorOptions = {
  readonly file: ConfigFile;
  /** the configuration that the process was started with */
  readonly running: Config;
  readonly version: string;
  /** epoch milliseconds */
  readonly startedAt: number;
  /** the agents of a cluster are not those of the file */
  readonly clustered: boolean;
  /**
   * applies the new content of the file to this process
   * @throws TroupeError when the root refuses the agents
   */
  readonly apply: (config: Config, by: string) => Promise<void>;
};

export class ConfigEditor implements ConfigSetup {
  readonly #o: ConfigEditorOptions;

  constructor(options: ConfigEditorOptions) {
    this.#o = options;
  }

  get(): ConfigSnapshot {
    const { file, running } = this.#o;
    const { path, text, document, hash } = file.read();
    const { issues, config } = this.#loaded();
    const shown = redact(configSchema, document) as Document;
    return {
      path,
      exists: hash !== null,
      raw: text === undefined ? null : redactText(configSchema, text, document),
      parsed: shown,
      sourceConfig: shown,
      resolved: shown,
      valid: issues.length === 0,
      config: config === undefined ? shown : withoutSecrets(config),
      runtimeConfig: withoutSecrets(running),
      hash,
      issues,
      warnings: [],
      legacyIssues: [],
    };
  }

  set({ raw, baseHash }: ConfigSetParams, by: string): Promise<ConfigWritten> {
    return this.write(
      baseHash,
      ({ document }) => {
        const given = documentOf(raw);
        refuseCommands(given, document);
        return restoreText(configSchema, raw, given, document);
      },
      by,
    );
  }

  patch(
    { raw, baseHash, replacePaths = [] }: ConfigPatchParams,
    by: string,
  ): Promise<ConfigWritten> {
    return this.write(
      baseHash,
      ({ document }) => {
        const merged = mergePatch(document, documentOf(raw), new Set(replacePaths));
        refuseCommands(merged, document);
        return textOf(restore(configSchema, merged, document));
      },
      by,
    );
  }

  /**
   * Replaces the file and applies the changes that need no restart.
   * @throws TroupeError as ConfigFile.replace
   */
  async write(
    baseHash: string | undefined,
    change: (before: FileText) => string,
    by: string,
  ): Promise<ConfigWritten> {
    const { file, clustered, apply } = this.#o;
    let before: Document = {};
    const { backup, config } = await file.replace(baseHash, (found) => {
      before = found.document;
      return change(found);
    });
    const { path, document, hash } = file.read();
    const changed = changedPaths(before, document);
    const isAtOnce = (when: string) => when === 'process' || (when === 'agents' && !clustered);
    const later = new Set(
      changed.flatMap(({ path: at, pointer }) => (isAtOnce(whenApplied(pointer)) ? [] : [at])),
    );
    const hot = [...new Set(changed.map((one) => one.path))].filter((one) => !later.has(one));
    if (changed.length > 0) await apply(config, by);
    const waiting = [...later];
    return {
      ok: true,
      ...(changed.length === 0 ? { noop: true } : {}),
      path,
      hash,
      config: redact(configSchema, document) as Document,
      ...defined({ backup }),
      applied: hot,
      restart: { required: waiting.length > 0, paths: waiting },
    };
  }

  schema() {
    const { version, startedAt } = this.#o;
    return { ...schemaForPeople(), version, generatedAt: new Date(startedAt).toISOString() };
  }

  lookup(path: string) {
    return lookup(path);
  }

  #loaded(): { issues: ConfigSnapshot['issues']; config?: Config } {
    const { file, running } = this.#o;
    if (file.read().hash === null) return { issues: [], config: running };
    try {
      return { issues: [], config: file.load() };
    } catch (error) {
      const { problems = [] } = error as Partial<ConfigError>;
      return { issues: problems.map((one) => ({ path: one.path, message: problemText(one) })) };
    }
  }
}

/** @throws TroupeError INVALID_ARGUMENT */
const documentOf = (raw: string): Document => {
  try {
    const value: unknown = JSON5.parse(raw);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      return value as Document;
    }
  } catch (error) {
    // json5 reports the position and one character of the text.
    const why = (error as Error).message.replace(/^JSON5: /, '');
    throw new TroupeError('INVALID_ARGUMENT', `/raw is not valid JSON5: ${why}`);
  }
  throw new TroupeError('INVALID_ARGUMENT', '/raw is not a JSON5 object');
};

/** Of a loaded configuration. */
const withoutSecrets = (config: Config): Document => {
  const plain: unknown = JSON.parse(
    JSON.stringify(config, function hide(this: Record<string, unknown>, key, value: unknown) {
      return this[key] instanceof Secret ? CONFIG_REDACTED : value;
    }),
  );
  const { home: _, ...shown } = redact(configSchema, plain) as Document;
  return shown;
};

/** Every value that differs, with its path as a user writes it: that of the list around it. */
const changedPaths = (before: Document, after: Document) => {
  const pointers = new Set([...leaves(before), ...leaves(after)].map(([pointer]) => pointer));
  const text = (value: unknown) => JSON.stringify(value) ?? '';
  return [...pointers]
    .filter((pointer) => text(valueAt(before, pointer)) !== text(valueAt(after, pointer)))
    .map((pointer) => ({ pointer, path: showPointer(listOf(pointer)) }));
};
const listOf = (pointer: string): string => /^(.*?)\/\d+(?:\/|$)/.exec(pointer)?.[1] ?? pointer;

/**
 * A command reference is executed when the configuration is checked. An operator who may change the
 * file remotely must not be able to run a command on this machine that way.
 * @throws TroupeError FORBIDDEN
 */
const refuseCommands = (given: Document, before: Document): void => {
  for (const [pointer, value] of leaves(given)) {
    const at = /^(.*)\/command(?:\/\d+)?$/.exec(pointer)?.[1];
    if (at === undefined || valueAt(before, pointer) === value) continue;
    throw new TroupeError(
      'FORBIDDEN',
      `${showPointer(at)}: a command that prints a secret can be written into the file on the machine only, ` +
        'not through the gateway',
    );
  }
};
