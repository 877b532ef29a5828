/**
 * Limits that follow the configuration in effect: each property is read when it is used. They are
 * not spread or copied, which would read them once.
 */
import type { LiveConfig } from '../installation/live/live-config.ts';
import type { Config } from '../runtime/config/index.ts';

type Live = Pick<LiveConfig, 'now'>;

export const liveOutstanding = (live: Live): Config['a2a']['outstanding'] => ({
  get messages() {
    return live.now.a2a.outstanding.messages;
  },
  get bytes() {
    return live.now.a2a.outstanding.bytes;
  },
});

export const liveRateLimit = (live: Live): Config['gateway']['auth']['rateLimit'] => ({
  get maxAttempts() {
    return live.now.gateway.auth.rateLimit.maxAttempts;
  },
  get windowMs() {
    return live.now.gateway.auth.rateLimit.windowMs;
  },
  get lockoutMs() {
    return live.now.gateway.auth.rateLimit.lockoutMs;
  },
  get exemptLoopback() {
    return live.now.gateway.auth.rateLimit.exemptLoopback;
  },
});
