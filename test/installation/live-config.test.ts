import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Outstanding } from '../../channels/edge/outstanding.ts';
import { TokenQuota } from '../../channels/edge/quota.ts';
import { AuthFailures } from '../../channels/gateway/auth/failed-attempts.ts';
import { configuredRules } from '../../channels/messengers/configured-rules.ts';
import type { AccountSettings } from '../../channels/messengers/account-settings.ts';
import { liveOutstanding, liveRateLimit } from '../../compose/live-limits.ts';
import { createProcessServices } from '../../compose/process-services.ts';
import type { InboundMessage } from '../../protocols/channel.ts';
import { LiveConfig } from '../../installation/live/live-config.ts';
import { type ConfigError, loadConfig } from '../../runtime/config/index.ts';
import { systemClock } from '../../runtime/index.ts';
import { MovableClock } from '../runtime/artifacts/contract.ts';

const home = mkdtempSync(join(tmpdir(), 'troupe-live-'));
const load = (settings: Record<string, unknown>) =>
  loadConfig({ env: {}, settings, flags: { data: home } }).config;
const silent = { log: { level: 'silent' } };

describe('the configuration in effect', () => {
  it('changes the level of the log and the rules of talk in the objects that tools have', async () => {
    const { live, log, services } = createProcessServices(load(silent));
    const { talk } = services;
    await live.fileChanged(
      load({ log: { level: 'fatal' }, tools: { agentToAgent: { enabled: true } } }),
      'test',
    );
    expect({ level: log.level, enabled: talk.enabled }).toEqual({ level: 'fatal', enabled: true });
    await live.fileChanged(load({ ...silent, tools: { agentToAgent: { allow: [] } } }), 'test');
    expect(talk).toMatchObject({ enabled: false, allow: [] });
    await live.fileChanged(load(silent), 'test');
    expect(talk).not.toHaveProperty('allow');
  });

  const logged = () => {
    const lines: string[] = [];
    const line = (_: object, text: string) => void lines.push(text);
    const log = { info: line, warn: line };
    return { live: new LiveConfig({ config: load(silent), clustered: false, log }), lines };
  };

  it('refuses a file with the path, the value, and what is allowed', () => {
    const { live, lines } = logged();
    const problems = (settings: Record<string, unknown>) => {
      try {
        load(settings);
      } catch (error) {
        return (error as ConfigError).problems;
      }
      throw new Error('nothing was refused');
    };
    live.fileRefused(problems({ session: { agentToAgent: { maxPingPongTurns: 6 } }, gatway: {} }));
    const wrong = '= 6 is not allowed (allowed: a whole number from 0 to 5)';
    expect(lines[0]).toContain(`session.agentToAgent.maxPingPongTurns ${wrong}`);
    expect(live.status().problems).toContainEqual(
      expect.objectContaining({ path: 'session.agentToAgent.maxPingPongTurns', message: wrong }),
    );
    live.fileRefused(problems({ models: { providers: { one: { apiKey: ['hunter2'] } } } }));
    expect(lines[1]).not.toContain('hunter2');
  });

  it('asks for no restart when a key has its value of the start again', async () => {
    const { live, lines } = logged();
    await live.fileChanged(load({ ...silent, session: { mainKey: 'home' } }), 'test');
    await live.fileChanged(load(silent), 'test');
    expect(lines).toEqual([
      'the configuration file changed; restart needed: session.mainKey',
      'the configuration file changed; in effect: session.mainKey',
    ]);
  });

  it('has the shares of tenants that the runtime asks for', async () => {
    const { live, options } = createProcessServices(load(silent));
    const shares = () => (options.tenantWeights as () => object)();
    expect(shares()).toEqual({});
    await live.fileChanged(load({ ...silent, runtime: { tenantWeights: { gold: 3 } } }), 'test');
    expect(shares()).toEqual({ gold: 3 });
    expect(live.status().restartNeeded).toEqual([]);
  });

  it('has the limits of envelopes and of wrong secrets that a gateway asks for', async () => {
    const { live } = createProcessServices(load(silent));
    const [outstanding, rateLimit] = [liveOutstanding(live), liveRateLimit(live)];
    const clock = new MovableClock();
    const failures = new AuthFailures(rateLimit, clock);
    const envelopes = new Outstanding(outstanding);
    failures.count('10.0.0.1');
    expect(failures.lockedForMs('10.0.0.1')).toBe(0);
    envelopes.begin(10);
    envelopes.begin(10);
    const auth = { rateLimit: { maxAttempts: 2, lockoutMs: 5_000 } };
    const a2a = { outstanding: { messages: 2 } };
    await live.fileChanged(load({ ...silent, gateway: { auth }, a2a }), 'test');
    failures.count('10.0.0.1');
    const lockedMs = failures.lockedForMs('10.0.0.1');
    expect([lockedMs > 0, lockedMs <= 5_000]).toEqual([true, true]);
    expect(() => envelopes.begin(10)).toThrow(/limit of concurrent envelopes/);
    expect(live.status().restartNeeded).toEqual([]);
  });

  it('limits the next request by the new quota', async () => {
    const { live } = createProcessServices(load(silent));
    const system = { nodes: () => [] };
    const quota = new TokenQuota(() => live.now.a2a.quota, system, systemClock);
    const caller = { tenant: 'default', sub: 'one', profile: 'A2A-Core', roles: [] } as never;
    expect(quota.take(caller).limit).toBe(30_000);
    await live.fileChanged(load({ ...silent, a2a: { quota: { principalPerMinute: 2 } } }), 'test');
    expect(quota.take(caller).limit).toBe(2);
  });

  it('routes the next message by the new scope of sessions', async () => {
    const { live } = createProcessServices(load(silent));
    const rules = configuredRules(() => live.now);
    const of = { channel: 'telegram', account: 'main', tenant: 'default' } as AccountSettings;
    const message = {
      key: '1',
      kind: 'message',
      messageId: '1',
      chat: { kind: 'dm', id: '42' },
      sender: { id: '42' },
      text: 'hi',
      mentionsAccount: false,
    } as InboundMessage;
    expect(rules.route(of, message).sessionKey).toBe('agent:main:main');
    await live.fileChanged(load({ ...silent, session: { dmScope: 'per-peer' } }), 'test');
    expect(rules.route(of, message).sessionKey).toContain('42');
  });

  it('lets a setting of the cluster win over the file, until it is removed', async () => {
    const { live, log } = createProcessServices(load(silent));
    await live.clusterChanged({ version: 1, values: { 'log.level': 'error' } }, 'test');
    await live.fileChanged(load({ log: { level: 'fatal' } }), 'test');
    expect(log.level).toBe('error');
    await live.clusterChanged({ version: 2, values: {} }, 'test');
    expect(log.level).toBe('fatal');
    expect(() => live.assertValues({ 'gateway.port': 1 })).toThrow(/cannot be set/);
  });

  it.each(['log..level', '[log].level', 'log["level"]', '.log.level'])(
    'refuses %s as another name of log.level, which would be set twice',
    (path) => {
      const { live } = createProcessServices(load(silent));
      expect(() => live.assertValues({ [path]: 'info' })).toThrow(/is written log\.level/);
    },
  );

  it('names keys of agents in a cluster, where the file does not decide them', async () => {
    const { live } = createProcessServices(load(silent), true);
    await live.fileChanged(load({ ...silent, budget: { tokensPerDay: 5 } }), 'test');
    expect(live.status()).toMatchObject({
      applyNeeded: ['budget.tokensPerDay'],
      restartNeeded: [],
    });
  });
});
