/**
 * Says after the start that sandboxed sessions cannot run commands in this process, and what to
 * do. A container usually needs one more file for it.
 */
import { existsSync } from 'node:fs';
import type { Logger } from 'pino';
import { findSandbox } from '../agent/sandbox/choose.ts';
import { errorData } from '../protocols/errors.ts';
import { type Config, resolveAgents, tenantConfig } from '../runtime/config/index.ts';

/** After the start, so that it costs the start nothing. */
const AFTER_MS = 1_000;

export type SandboxNotice = {
  /** Why sandboxed commands are refused here; undefined if they work, or are not known yet. */
  fault(this: void): string | undefined;
};

const IN_COMPOSE =
  'Add the file deploy/sandbox.yml: docker compose -f docker-compose.yml -f deploy/sandbox.yml up. ' +
  'It allows workers to create user namespaces and to mount an own /proc, and nothing else ' +
  '(docs/sandbox.md, In a container)';
const IN_KUBERNETES =
  "Set `hostUsers: false` in the workers' pod, and in its container `securityContext: { procMount: " +
  'Unmasked, seccompProfile: { type: Unconfined }, appArmorProfile: { type: Unconfined } }`. They ' +
  'allow it to create user namespaces and to mount an own /proc (docs/sandbox.md, In a container)';

/**
 * What to do in a container for a sandbox; undefined: this is no container. @param env tells a test
 * or Kubernetes where it is
 */
export function containerRemedy(env: NodeJS.ProcessEnv = process.env): string | undefined {
  if (env['KUBERNETES_SERVICE_HOST'] !== undefined) return IN_KUBERNETES;
  const isContainer =
    env['container'] !== undefined || existsSync('/.dockerenv') || existsSync('/run/.containerenv');
  return isContainer ? IN_COMPOSE : undefined;
}

/** The notice of a sandbox that does not work. */
export const sandboxText = (missing: string): string =>
  'sandboxed sessions cannot run commands in this process; all other tools work: ' +
  [missing, containerRemedy()].filter(Boolean).join('. ');

/** Looks once, unless no agent is sandboxed. A failure is logged. */
export function noticeSandbox(config: Config, log: Pick<Logger, 'warn'>): SandboxNotice {
  let fault: string | undefined;
  const look = async () => {
    const { boundary, image } = config.tools.exec;
    const found = await findSandbox({ boundary, image });
    if ('boundary' in found) return;
    fault = sandboxText(found.missing);
    log.warn({ sandbox: true }, fault);
  };
  const failed = (error: unknown) => log.warn({ sandbox: true }, errorData(error).message);
  if (needsSandbox(config)) setTimeout(() => void look().catch(failed), AFTER_MS).unref();
  return { fault: () => fault };
}

const needsSandbox = (config: Config): boolean =>
  [config, ...Object.keys(config.tenants).map((name) => tenantConfig(config, name))]
    .flatMap((one) => resolveAgents(one))
    .some(({ sandbox }) => sandbox.mode !== 'none');
