/**
 * `troupe start`: runs troupe in this process until a signal.
 *
 * The first SIGINT or SIGTERM stops it in order: it accepts no new messages, commits running work
 * and closes the stores. The second one exits at once, which loses nothing that was accepted.
 */
import type { Config } from '../../runtime/config/index.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { exitCodes, reportFailure, takenPort, takenReasons } from '../exit.ts';
import { checkOpenFiles } from './open-files.ts';
import { noteRunningGateway, runningGateway } from '../../installation/running-gateway.ts';
import { type CommonOptions, configuredOrigin, loadToStart } from '../options.ts';
import { startSmall } from './memory.ts';
import { aborted, untilSignal } from './signals.ts';
import { version } from '../version.ts';

export async function start(options: CommonOptions): Promise<number> {
  checkOpenFiles();
  const { config, troupe, advice } = await startSmall(() => open(options));
  const stop = untilSignal();
  const forget = noteRunningGateway(config.home, troupe.url);
  announce(withSecret(troupe.url, config), await advice, options);
  const failure = await Promise.race([aborted(stop), troupe.failed]);
  forget();
  // Nothing can be stored any more, so there is nothing to stop in order. A supervisor starts
  // again.
  if (failure) process.exit(reportFailure(failure, options));
  await troupe.stop();
  return exitCodes.ok;
}

async function open(options: CommonOptions) {
  const { config: loaded, file } = await loadToStart(options);
  const { ensureToken, makeFolder } = await import('../../runtime/config/index.ts');
  const config = ensureToken(loaded);
  const { ownFolders, startTroupe } = await import('../../main.ts');
  // So that a user finds where own hooks, skills and plugins belong.
  for (const folder of ownFolders(config)) makeFolder(folder);
  const reload = async () => (await loadToStart(options)).config;
  // Beside the start, which takes longer.
  const advice = options.json ? Promise.resolve('') : modelAdvice(config);
  const troupe = await startTroupe(config, {}, { file, reload }).catch((error: unknown) =>
    explainUse(error, config),
  );
  return { config, troupe, advice };
}

/**
 * The URL that opens the page and signs in. The token follows `#`, which is not sent to servers.
 */
export function withSecret(url: string, { gateway: { auth } }: Config): string {
  if (url.includes('#') || auth.mode !== 'token' || !auth.token) return url;
  return `${url}${url.endsWith('/') ? '' : '/'}#token=${encodeURIComponent(auth.token.reveal())}`;
}

function announce(url: string, advice: string, { json }: CommonOptions): void {
  if (json) {
    process.stdout.write(`${JSON.stringify({ url, pid: process.pid, version })}\n`);
    return;
  }
  process.stdout.write(
    `${advice}troupe ${version} is ready. Open this page, or type: npx troupe chat\n\n  ${url}\n\n`,
  );
}

/** Which model could answer, when the configuration names none. Takes at most 300 ms. */
async function modelAdvice(config: Config): Promise<string> {
  const { findModels, namesNoModel } = await import('../found-models.ts');
  if (!namesNoModel(config)) return '';
  const found = await findModels(process.env);
  const lines = found.map(({ text, command }) => `${text}\n${command ? `  npx ${command}\n` : ''}`);
  return found.length > 0
    ? `The configuration names no model. Found here:\n\n${lines.join('')}\n`
    : 'The configuration names no model: the offline model answers. To add one, set ANTHROPIC_API_KEY,\nOPENAI_API_KEY or GEMINI_API_KEY, or start a local server such as Ollama: npx troupe doctor\n\n';
}

/** Explains what an operator can do about an occupied data folder or port. */
async function explainUse(error: unknown, config: Config): Promise<never> {
  const isLocked =
    error instanceof TroupeError && error.details?.['reason'] === takenReasons.folder;
  const running = isLocked ? runningGateway(config.home) : undefined;
  if (running === undefined) return explainPort(error, config);
  throw new TroupeError(
    'UNAVAILABLE',
    `troupe already runs with the data folder ${config.home}, in process ${running.pid}: ${running.url}\nOpen its page: troupe open. Another one needs another folder: --data DIR --port 0`,
    { details: { reason: takenReasons.folder, pid: running.pid, url: running.url }, cause: error },
  );
}

/** Explains what an operator can do about an occupied port. */
export async function explainPort(error: unknown, config: Config): Promise<never> {
  if (!takenPort(error)) throw error;
  const origin = await configuredOrigin(config);
  const { isTroupe } = await import('./probe.ts');
  const advice = (await isTroupe(origin))
    ? 'troupe already runs there: use it, stop it, or start with --port N and --data DIR'
    : 'another program uses it: start with --port N, or set gateway.port';
  throw new TroupeError('UNAVAILABLE', `port ${config.gateway.port} is in use. ${advice}`, {
    details: { reason: takenReasons.port },
    cause: error,
  });
}
