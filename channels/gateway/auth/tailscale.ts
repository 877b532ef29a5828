/**
 * Asks the Tailscale daemon of this machine who an address of the tailnet belongs to, so that
 * a header that anybody on the machine could write is never believed alone.
 */
import { type Clock, LruMap } from '../../../runtime/index.ts';

/**
 * The login that owns this address; undefined if it has no owner. @throws when the daemon does not
 * answer
 */
export type Whois = (ip: string) => Promise<string | undefined>;

const WHOIS_MS = 3_000;
const ANSWER_BYTES_MAX = 262_144;
/** Answers that are remembered, and for how long. A failure is not. */
const KEPT_MAX = 1_000;
const KEPT_MS = 60_000;

/** By `tailscale whois --json`, run without a shell. */
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
