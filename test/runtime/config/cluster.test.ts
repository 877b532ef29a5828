/** The sections for a cluster: valid values, overrides and refused values. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { natsServers } from '../../../runtime/config/index.ts';
import { load, problemsOf } from './folder.ts';

describe('the section nats', () => {
  it('contains one server or several, and has defaults for everything else', () => {
    const one = load("{ nats: { url: 'nats://a:4222' } }").config;
    const two = load("{ nats: { url: ['nats://a:4222', 'tls://b:4222'] } }").config;
    expect([one, two].map(({ nats }) => natsServers(nats))).toEqual([
      ['nats://a:4222'],
      ['nats://a:4222', 'tls://b:4222'],
    ]);
    expect(natsServers(load('{}').config.nats)).toEqual([]);
    expect(one.nats).toMatchObject({ replicas: 1, env: 'main' });
    expect(one.cluster).toEqual({
      shards: 64,
      weight: 1,
      labels: {},
      drainSeconds: 25,
      warmCopies: 1,
    });
    expect(one.runtime).toMatchObject({ tenantWeights: {}, workspaces: {} });
  });

  it('is overridden by variables, which flags override', () => {
    const env = {
      TROUPE_NATS_URL: 'nats://b:1,nats://c:2',
      TROUPE_NATS_USER: 'u',
      TROUPE_NATS_PASSWORD: 'p',
      TROUPE_NATS_REPLICAS: '3',
      TROUPE_NODE_NAME: 'of-env',
    };
    const text = "{ nats: { url: 'nats://a:1' }, cluster: { name: 'of-file', weight: 2 } }";
    const { nats, cluster } = load(text, { env }).config;
    expect(natsServers(nats)).toEqual(['nats://b:1', 'nats://c:2']);
    expect(nats).toMatchObject({ user: 'u', replicas: 3 });
    expect(nats.password?.reveal()).toBe('p');
    expect(cluster).toMatchObject({ name: 'of-env', weight: 2 });
    const flags = { nats: 'nats://d:3', name: 'of-flag', weight: '0.5' };
    const flagged = load(text, { env, flags }).config;
    expect(natsServers(flagged.nats)).toEqual(['nats://d:3']);
    expect(flagged.cluster).toMatchObject({ name: 'of-flag', weight: 0.5 });
  });

  it('resolves relative files from the folder of the configuration', () => {
    const { config, home } = load(
      "{ nats: { credentialsFile: 'a.creds', tls: { caFile: 'ca.pem' } }, runtime: { workspaces: { path: 'w' } } }",
    );
    expect(config.nats.credentialsFile).toBe(join(home, 'a.creds'));
    expect(config.nats.tls).toEqual({ caFile: join(home, 'ca.pem') });
    expect(config.runtime.workspaces).toMatchObject({ path: join(home, 'w') });
  });

  it('shows no password, neither in its field nor in a URL', () => {
    const { config } = load("{ nats: { url: 'nats://a:1', user: 'u', password: 'hush-hush' } }");
    expect(JSON.stringify(config)).not.toContain('hush-hush');
    const inUrl = ['nats://u:hush-hush@a:1', 'http://u:hush-hush@a:1'].map((url) =>
      problemsOf(`{ nats: { url: '${url}' } }`),
    );
    expect(inUrl).toMatchObject([
      [{ path: 'nats.url', where: 'troupe.json5:1:11' }],
      [{ path: 'nats.url', value: '"http://***@a:1"' }],
    ]);
    expect(JSON.stringify(inUrl)).not.toContain('hush-hush');
  });

  it.each([
    ["{ nats: { user: 'u' } }", 'nats.password', 'is missing: nats.user is set'],
    ["{ nats: { password: 'p' } }", 'nats.user', 'is missing: nats.password is set'],
    [
      "{ nats: { token: 't', nkeySeedFile: 'f' } }",
      'nats.nkeySeedFile',
      'nats.token is set already; there is one way to sign in',
    ],
    [
      "{ nats: { tls: { certFile: 'c' } } }",
      'nats.tls.keyFile',
      'is missing: nats.tls.certFile is set',
    ],
    ['{ nats: { replicas: 2 } }', 'nats.replicas', 'is not allowed'],
    ["{ nats: { env: 'a.b' } }", 'nats.env', 'is not allowed'],
    ["{ cluster: { name: 'a b' } }", 'cluster.name', 'is not allowed'],
    ['{ cluster: { weight: 0 } }', 'cluster.weight', 'is not allowed'],
    ['{ runtime: { tenantWeights: { a: 0 } } }', 'runtime.tenantWeights.a', 'is not allowed'],
  ])('refuses %s', (text, path, message) => {
    expect(problemsOf(text)).toMatchObject([{ path, message }]);
  });
});

describe('--bind', () => {
  it('accepts a keyword of the file, or an address', () => {
    const bind = (text: string) => load('{}', { flags: { bind: text } }).config.gateway;
    expect(bind('lan')).toMatchObject({ bind: 'lan' });
    expect(bind('192.168.1.5')).toMatchObject({
      bind: 'custom',
      customBindHost: '192.168.1.5',
    });
    expect(problemsOf('{}', { flags: { bind: 'somewhere' } })).toMatchObject([
      { path: 'gateway.bind', where: '--bind' },
    ]);
  });
});
