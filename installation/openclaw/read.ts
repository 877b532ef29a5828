/** Reads a state folder of OpenClaw, of any layout. Nothing in it is changed. */
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { TroupeError } from '../../protocols/errors.ts';
import { agentsIn, type FoundAgent, readConfig } from './config-file.ts';
import { attempt, readFilesLayout } from './files-layout.ts';
import { type Fields, type Findings, type FoundSession, noFindings } from './found.ts';
import { environmentName, keyVariable, secretsIn } from './secrets.ts';
import { databasesIn, readSqliteLayout } from './sqlite-layout.ts';

export type OpenClaw = Findings & {
  readonly state: string;
  readonly config: Fields;
  readonly agents: readonly FoundAgent[];
  /** Removes temporary copies; sessions cannot be read any more. */
  close(): void;
};

/** `$OPENCLAW_STATE_DIR`, else `~/.openclaw`, else the older `~/.clawdbot`. */
export function defaultStateFolder(env: NodeJS.ProcessEnv): string {
  const named = env['OPENCLAW_STATE_DIR'];
  if (named) return resolve(named);
  const [current = '', older = ''] = ['.openclaw', '.clawdbot'].map((name) =>
    join(env['HOME'] ?? homedir(), name),
  );
  return existsSync(current) || !existsSync(older) ? current : older;
}

/**
 * @throws TroupeError NOT_FOUND when the folder holds nothing of OpenClaw; INVALID_ARGUMENT when
 *   this Node is too old for it
 */
export async function readOpenClaw(path: string): Promise<OpenClaw> {
  const state = resolve(path);
  const parts = ['openclaw.json', 'agents', 'state'].filter((name) =>
    existsSync(join(state, name)),
  );
  if (parts.length === 0)
    throw new TroupeError(
      'NOT_FOUND',
      `${state} is not a state folder of OpenClaw (no openclaw.json, no agents): name it`,
    );
  const found = noFindings();
  const close = await readSqliteLayout(state, found);
  readFilesLayout(state, found);
  if (found.sessions.length === 0 && databasesIn(state).size === 0 && parts.includes('agents'))
    found.warnings.push(`${join(state, 'agents')} holds no sessions`);
  let config: Fields = {};
  attempt(found, 'config', join(state, 'openclaw.json'), () => (config = readConfig(state)));
  addConfiguredSecrets(config, found);
  const sessions = withoutRepeats(found.sessions);
  return { ...found, sessions, state, config, agents: agentsIn(config), close };
}

function addConfiguredSecrets(config: Fields, found: Findings): void {
  for (const { path, value } of secretsIn(config)) {
    const [first, second, provider = ''] = path;
    const id = `openclaw.json/${path.join('.')}`;
    if (first === 'gateway') {
      found.leftOut.push({ kind: 'secret', id, reason: 'troupe has its own address and token' });
    } else if (first === 'models' && second === 'providers' && path.length === 4)
      found.secrets.push({ id, provider, env: keyVariable(provider), value });
    else found.secrets.push({ id, env: environmentName(path.join('.')), value });
  }
}

/** A session in both layouts was migrated by OpenClaw: the database, read first, is newer. */
function withoutRepeats(sessions: readonly FoundSession[]): FoundSession[] {
  const ids = new Set<string>();
  return sessions.filter(({ sessionId, place }) => {
    const id = `${sessionId} ${/-topic-(.+)\.jsonl/.exec(place)?.[1] ?? ''}`;
    return !ids.has(id) && ids.add(id);
  });
}
