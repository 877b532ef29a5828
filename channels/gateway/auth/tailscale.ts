/**
 * Asks the Tailscale daemon of this machine which login owns a tailnet address. A header alone is
 * no proof, because any program on the machine can send one.
 */
import { type Clock, LruMap } from '../../../runtime/index.ts';

/**
 * The login that owns the address; undefined if it has no owner. @throws when the daemon does not
 * answer
 */
export type Whois = (ip: string) => Promise<string | undefined>;

const WHOIS_MS = 3_000;
const ANSWER_BYTES_MAX = 262_144;
/** Number of cached answers, and for how long. Failures are not cached. */
const KEPT_MAX = 1_000;
const KEPT_MS = 60_000;

/** Runs `tailscale whois --json` without a shell. */
export const whoisByTailscale = (binary: string, clock: Clock): Whois => {
  const known = new LruMap<string, { readonly login: string | undefined; readonly until: number }>(
    KEPT_MAX,
  );
  return async (ip) => {
    const now = clock.monotonicMs();
    const found = known.get(ip);
    if (found !== undefined && found.until > now) return found.login;
    const login = loginOf(await run(binary, ['whois', '--json', ip]));
    known.set(ip, { login, until: now + KEPT_MS });
    return login;
  };
};

const run = async (binary: string, args: readonly string[]): Promise<string> => {
  const { execFile } = await import('node:child_process');
  return new Promise((resolve, reject) => {
    const options = { timeout: WHOIS_MS, maxBuffer: ANSWER_BYTES_MAX, windowsHide: true };
    execFile(binary, args, options, (error, stdout) => (error ? reject(error) : resolve(stdout)));
  });
};

const loginOf = (answer: string): string | undefined => {
  const { UserProfile } = JSON.parse(answer) as { UserProfile?: { LoginName?: unknown } };
  const login = UserProfile?.LoginName;
  return typeof login === 'string' && login !== '' ? login : undefined;
};
