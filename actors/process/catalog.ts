/**
 * ProcessCatalog: the processes of this code and their actions, checked together: every action
 * exists, and no agent verifies its own work.
 */
import { majorOf } from '../../protocols/action.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { ActionDefinition } from '../task/action.ts';
import type { ActionCatalog } from '../task/catalog.ts';
import type { Call, ProcessDefinition, Step } from './define.ts';

export class ProcessCatalog {
  readonly #processes: readonly ProcessDefinition[];
  readonly #actions: ActionCatalog;

  /**
   * @param actions must contain every action of the processes' steps
   * @throws TroupeError INVALID_ARGUMENT that names process, step and what is wrong; CONFLICT when
   * two processes have the same name and MAJOR version
   */
  constructor(processes: readonly ProcessDefinition[], actions: ActionCatalog) {
    this.#processes = processes;
    this.#actions = actions;
    const seen = new Set<string>();
    for (const process of processes) {
      const key = `${process.action}@${majorOf(process.version)}`;
      if (seen.has(key))
        throw new TroupeError('CONFLICT', `the process ${key} is registered twice`);
      seen.add(key);
      for (const step of process.steps) this.#check(process, step);
    }
  }

  /** The process of one MAJOR version; without a version, the first one of its name. */
  find(action: string, version?: string): ProcessDefinition | undefined {
    return this.#processes.find(
      (one) =>
        one.action === action &&
        (version === undefined || majorOf(one.version) === majorOf(version)),
    );
  }

  /** @throws TroupeError NOT_FOUND */
  actionOf({ action, version }: Call<unknown>): ActionDefinition {
    const found = this.#actions.find(action, version);
    if (found) return found;
    throw new TroupeError('NOT_FOUND', `no action ${action} of version ${version} is registered`);
  }

  #check(process: ProcessDefinition, step: Step<unknown>): void {
    this.#checkPair(process, step, step, step.verify);
    if (step.compensate) this.#checkPair(process, step, step.compensate, step.compensate.verify);
  }

  #checkPair(
    process: ProcessDefinition,
    { name }: Step<unknown>,
    work: Call<unknown>,
    verify: Call<unknown> | undefined,
  ): void {
    const wrong = (what: string): never => {
      const where = `the process ${process.action}, step ${name}`;
      throw new TroupeError('INVALID_ARGUMENT', `${where}: ${what}`);
    };
    const definition = (call: Call<unknown>): ActionDefinition =>
      this.#actions.find(call.action, call.version) ??
      wrong(`no action ${call.action} of version ${call.version} is registered`);
    const sealed = [work, verify].find((call) => call && definition(call).sensitive);
    if (sealed) wrong(`${sealed.action} accepts only sealed payloads, and a process makes none`);
    const { agent } = definition(work);
    if (!verify) return;
    const verifier = definition(verify);
    if (verifier.agent === agent)
      wrong(`${verify.action} belongs to ${agent}, which does the work: let another agent verify`);
    if (!verifier.evidence)
      wrong(`${verify.action} returns no Evidence: define it with evidence: true`);
  }
}
