/** Guessing a secret over WebSocket and HTTP is bounded, and locks no owner out. */
import { createHash } from 'node:crypto';
import { afterEach, describe, expect, test } from 'vitest';
import { Tenancy } from '../../../../channels/tenancy.ts';
import type { Gateway } from '../../../../channels/index.ts';
import type { GatewayAuth } from '../../../../channels/gateway/auth/access.ts';
import { AuthFailures } from '../../../../channels/gateway/auth/failed-attempts.ts';
import { AUTH_TURN_MS, AUTH_WAITING_MAX } from '../../../../channels/gateway/limits.ts';
import {
  accountOf,
  AddressList,
  remoteOf,
} from '../../../../channels/gateway/auth/client-address.ts';
import { isUnguessable } from '../../../../channels/unguessable.ts';
import { gatewayAuth } from '../../../../channels/gateway/auth/configured-auth.ts';
import { loadConfig } from '../../../../runtime/config/index.ts';
import { connectParams, eventually, TOKEN } from '../client.ts';
import { helloAs, newDevice, type TestDevice } from '../devices/device-identity.ts';
import { closeAll, openGateway, openChallenged } from '../opened.ts';
import { dataFolder, openRealSystem } from '../real-system.ts';
import { StillClock } from '../still-clock.ts';

afterEach(closeAll);

type Headers = Record<string, string>;

const codeOf = async (gateway: Gateway, token: string, headers: Headers = {}) => {
  const client = await openChallenged(gateway, headers);
  const { ok, error } = await client.call('connect', connectParams({ auth: { token } }));
  const { code } = (error?.details ?? {}) as { code?: string };
  return ok ? 'in' : code;
};

const statusOf = async (gateway: Gateway, authorization: string) => {
  const answer = await fetch(new URL('/v1/approvals', gateway.url), { headers: { authorization } });
  await answer.body?.cancel();
  return answer.status;
};

const guessed = async (gateway: Gateway, times: number, headers: Headers = {}) => {
  for (let guess = 0; guess < times; guess++) {
    expect(await codeOf(gateway, `guess ${guess}`, headers)).toBe('AUTH_TOKEN_MISMATCH');
  }
};

/** Advances the time until all have settled; each step admits one attempt. */
const judged = async <T>(clock: StillClock, attempts: readonly Promise<T>[]): Promise<T[]> => {
  let isSettled = false;
  const all = Promise.all(attempts).finally(() => {
    isSettled = true;
  });
  await eventually(() => {
    clock.move(AUTH_TURN_MS);
    return isSettled || undefined;
  }, 'every attempt to be judged');
  return all;
};

test('a secret guessed over HTTP counts like one guessed by connect, also many at once', async () => {
  const clock = new StillClock();
  const gateway = await openGateway(undefined, { clock });
  const guesses = Array.from({ length: 25 }, (_, at) => statusOf(gateway, `Bearer guess-${at}`));
  const statuses = await judged(clock, guesses);
  expect(statuses.filter((status) => status === 429)).toHaveLength(15);
  expect((await judged(clock, [codeOf(gateway, 'guess')]))[0]).toBe('AUTH_RATE_LIMITED');
});

describe('while wrong secrets of others lock the address of a client', () => {
  const tenancy = new Tenancy([
    { tenant: 'acme', tokens: ['the token of acme'], principals: [], channelAccounts: [] },
  ]);

  test('the right token is admitted, over WebSocket and HTTP, and a wrong one is not', async () => {
    const clock = new StillClock();
    const gateway = await openGateway(undefined, { clock, tenancy });
    await guessed(gateway, 10);
    for (const right of [TOKEN, 'the token of acme']) {
      expect(await judged(clock, [codeOf(gateway, right)])).toEqual(['in']);
      expect(await judged(clock, [statusOf(gateway, `Bearer ${right}`)])).toEqual([404]);
      expect(await judged(clock, [codeOf(gateway, 'wrong')])).toEqual(['AUTH_RATE_LIMITED']);
      expect(await judged(clock, [statusOf(gateway, 'Bearer wrong')])).toEqual([429]);
    }
  });

  test('the right password is admitted', async () => {
    const clock = new StillClock();
    const auth: GatewayAuth = { mode: 'password', password: 'open sesame' };
    const gateway = await openGateway(undefined, { clock, auth });
    const codeWith = async (password: string) => {
      const client = await openChallenged(gateway);
      const params = connectParams({ auth: { password } });
      const { ok, error } = await client.call('connect', params);
      return ok ? 'in' : error?.details?.['code'];
    };
    for (let guess = 0; guess < 10; guess++) await codeWith(`guess ${guess}`);
    expect(await judged(clock, [codeWith('wrong')])).toEqual(['AUTH_RATE_LIMITED']);
    expect(await judged(clock, [codeWith('open sesame')])).toEqual(['in']);
  });

  test('no secret is compared before its turn, so that guessing stays bounded', async () => {
    const clock = new StillClock();
    const gateway = await openGateway(undefined, { clock });
    await guessed(gateway, 10);
    // The first one is checked at once, the others wait, and the right one arrived before the last.
    const ended: unknown[] = [];
    const attempts: Promise<unknown>[] = [];
    for (const token of ['a', 'b', TOKEN, 'c']) {
      const client = await openChallenged(gateway);
      const answer = client.call('connect', connectParams({ auth: { token } }));
      attempts.push(answer.then(({ ok }) => ended.push(ok)));
      if (token === 'a') await answer;
      // Its answer shows that the gateway has read the connects before.
      else await statusOf(gateway, 'Basic x');
    }
    for (const [count, next] of [attempts[3], attempts[2], attempts[1]].entries()) {
      expect(ended).toHaveLength(count + 1);
      clock.move(AUTH_TURN_MS);
      await next;
    }
    expect(ended).toEqual([false, false, true, false]);
  });

  test('a burst of wrong tokens does not keep its slots from the right one', async () => {
    const clock = new StillClock();
    const gateway = await openGateway(undefined, { clock });
    const burst: Promise<unknown>[] = [];
    for (let guess = 0; guess < 40; guess++) {
      const client = await openChallenged(gateway);
      burst.push(client.call('connect', connectParams({ auth: { token: `guess ${guess}` } })));
      // Its answer shows that the gateway has read the connect before.
      await statusOf(gateway, 'Basic x');
    }
    const right = codeOf(gateway, TOKEN);
    expect(await judged(clock, [right])).toEqual(['in']);
    await judged(clock, burst);
  });

  test('a right secret that cannot be guessed is admitted without a turn', async () => {
    const token = 'f4lX0o2dQ9vK7bR1sT6uW3yZ8aC5eG0h';
    const auth: GatewayAuth = { mode: 'token', token };
    const gateway = await openGateway(undefined, { clock: new StillClock(), auth });
    await guessed(gateway, 10);
    // The clock does not advance, so an attempt that waited for a turn would never return.
    for (let guess = 0; guess < 3; guess++) {
      expect(await codeOf(gateway, `guess ${guess}`)).toBe('AUTH_RATE_LIMITED');
      expect(await codeOf(gateway, token)).toBe('in');
      expect(await statusOf(gateway, 'Bearer wrong')).toBe(429);
      expect(await statusOf(gateway, `Bearer ${token}`)).toBe(404);
    }
  });

  test.each([
    ['f4lX0o2dQ9vK7bR1sT6uW3yZ8aC5eG0h', true],
    [createHash('sha256').update('x').digest('hex'), true],
    ['f4lX0o2dQ9vK7bR1sT6uW3yZ8aC5eG0', false],
    ['passwordpasswordpasswordpassword', false],
    ['', false],
  ])('%s counts as a secret that cannot be guessed: %s', (secret, expected) => {
    expect(isUnguessable(secret)).toBe(expected);
  });

  test('an attempt of a disconnected client uses no turn, and of too many the oldest is refused', async () => {
    const clock = new StillClock();
    const failures = new AuthFailures({}, clock);
    for (let guess = 0; guess < 10; guess++) failures.count('1.2.3.4');
    const turns: string[] = [];
    const attempt = (name: string, isOpen = () => true) =>
      failures.turn('1.2.3.4', { isOpen }).then((isTurn) => turns.push(`${name} ${isTurn}`));
    await attempt('first');
    const stays = attempt('stays');
    let isHere = true;
    void attempt('left', () => isHere);
    isHere = false;
    clock.move(AUTH_TURN_MS);
    await stays;
    expect(turns).toEqual(['first true', 'left false', 'stays true']);
    const oldest = attempt('oldest');
    for (let waiting = 0; waiting < AUTH_WAITING_MAX; waiting++) void attempt('waits');
    await oldest;
    expect(turns.at(-1)).toBe('oldest false');
  });

  test('an approved device has its own failure count, and never waits', async () => {
    const folder = dataFolder();
    const system = await openRealSystem(folder.path, 1_000);
    const clock = new StillClock();
    try {
      const gateway = await openGateway(system, { clock });
      const device = newDevice();
      const as = async (who: TestDevice, token: string) => {
        const client = await openChallenged(gateway);
        const params = connectParams({ auth: { token } }) as Parameters<typeof helloAs>[2];
        const { ok, error } = await helloAs(client, who, params);
        return ok ? 'in' : error?.details?.['code'];
      };
      expect(await as(device, TOKEN)).toBe('in');
      await guessed(gateway, 10);
      // The clock does not advance, so an attempt that waited for a turn would never return.
      await codeOf(gateway, 'takes the first turn');
      expect(await as(device, TOKEN)).toBe('in');
      for (let guess = 0; guess < 10; guess++) {
        expect(await as(device, 'wrong')).toBe('AUTH_TOKEN_MISMATCH');
      }
      expect(await as(device, 'wrong')).toBe('AUTH_RATE_LIMITED');
      // It has a failure count apart from its address.
      clock.move(60_000);
      for (let guess = 0; guess < 10; guess++) await as(device, 'wrong');
      expect(await codeOf(gateway, TOKEN)).toBe('in');
      // An unknown device shares the account of its address.
      await guessed(gateway, 10);
      expect(await as(newDevice(), 'wrong')).toBe('AUTH_RATE_LIMITED');
    } finally {
      await closeAll();
      await system.stop();
      folder.remove();
    }
  });
});

test('a client without a secret counts no failure', async () => {
  const gateway = await openGateway(undefined, { clock: new StillClock() });
  for (let time = 0; time < 12; time++)
    expect(await codeOf(gateway, '')).toBe('AUTH_TOKEN_MISSING');
  expect(await codeOf(gateway, TOKEN)).toBe('in');
});

test('tokens of tenants are not guessed without a bound if the gateway has no secret', async () => {
  const clock = new StillClock();
  const tenancy = new Tenancy([
    { tenant: 'acme', tokens: ['the token of acme'], principals: [], channelAccounts: [] },
  ]);
  const auth: GatewayAuth = { mode: 'trusted-proxy', trustedProxy: { proxies: ['10.0.0.7'] } };
  const gateway = await openGateway(undefined, { clock, tenancy, auth });
  for (let guess = 0; guess < 10; guess++) await statusOf(gateway, `Bearer guess-${guess}`);
  expect(await judged(clock, [statusOf(gateway, 'Bearer wrong')])).toEqual([429]);
});

test('an expired signed token, and a request without a token, lock no client out', async () => {
  const gateway = await openGateway();
  const jwt = `eyJhbGciOiJFZERTQSJ9.${Buffer.from('{"exp":1}').toString('base64url')}.AAAA`;
  for (let time = 0; time < 12; time++) {
    expect(await statusOf(gateway, `Bearer ${jwt}`)).not.toBe(429);
    expect(await statusOf(gateway, 'Basic eDp5')).not.toBe(429);
  }
  expect(await codeOf(gateway, TOKEN)).toBe('in');
});

test('a right secret in between does not allow an address more guesses', async () => {
  const gateway = await openGateway(undefined, { clock: new StillClock() });
  await guessed(gateway, 9);
  expect(await codeOf(gateway, TOKEN)).toBe('in');
  await guessed(gateway, 1);
  expect(await codeOf(gateway, 'guess')).toBe('AUTH_RATE_LIMITED');
});

test('guesses through a forwarder of this machine neither lock this machine out nor are exempt', async () => {
  const rateLimit = { exemptLoopback: true };
  const auth: GatewayAuth = { mode: 'token', token: TOKEN, rateLimit };
  const gateway = await openGateway(undefined, { clock: new StillClock(), auth });
  const forwarded = { 'x-forwarded-for': '203.0.113.9' };
  await guessed(gateway, 10, forwarded);
  expect(await codeOf(gateway, 'guess', forwarded)).toBe('AUTH_RATE_LIMITED');
  expect(await codeOf(gateway, TOKEN)).toBe('in');
});

test('clients that Tailscale forwards are distinguished by their addresses', () => {
  const env = { TROUPE_HOME: '/nowhere' };
  const flags = { port: '0', token: TOKEN };
  const { config } = loadConfig({ env, flags, home: '/nowhere' });
  const published = (mode: 'off' | 'funnel', auth: 'token' | 'trusted-proxy') =>
    gatewayAuth({
      ...config,
      gateway: {
        ...config.gateway,
        auth: { ...config.gateway.auth, mode: auth },
        tailscale: { ...config.gateway.tailscale, mode },
      },
    });
  const accounts = (auth: GatewayAuth) => {
    const proxies = new AddressList(auth.trustedProxy?.proxies);
    return ['203.0.113.9', '198.51.100.7', undefined].map((from) => {
      const headers = from === undefined ? {} : { 'x-forwarded-for': from };
      const request = { socket: { remoteAddress: '127.0.0.1' }, headers };
      return accountOf(remoteOf(request as Parameters<typeof remoteOf>[0], proxies));
    });
  };
  expect(accounts(published('funnel', 'token'))).toEqual([
    '203.0.113.9',
    '198.51.100.7',
    '127.0.0.1',
  ]);
  const one = 'forwarded by 127.0.0.1';
  expect(accounts(published('off', 'token'))).toEqual([one, one, '127.0.0.1']);
  expect(published('funnel', 'trusted-proxy').trustedProxy).toBeUndefined();
});
