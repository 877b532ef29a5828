/** `troupe dlq` as a process, against a real system behind real HTTP. */
import { userInfo } from 'node:os';
import { describe, expect, it } from 'vitest';
import {
  abandon,
  type DeadLetterServer,
  openDoor,
  SECRET,
} from '../channels/http/dead-letter-server.ts';
import { eventually } from '../runtime/eventually.ts';
import { puppet } from '../runtime/system/world.ts';
import { reservePort } from '../servers/reserve-port.ts';
import { runProgram } from './program.ts';

const dlq = ({ url }: DeadLetterServer, ...args: string[]) =>
  runProgram(['dlq', ...args, '--url', url.replace('http:', 'ws:'), '--token', SECRET]);

const first = async ({ world }: DeadLetterServer): Promise<string> => {
  const [letter] = await world.system.deadLetters.list();
  return `${letter!.domain}/${letter!.position}`;
};

describe('troupe dlq list and show', () => {
  it('print what an operator needs to decide, and everything as JSON', async () => {
    const server = await openDoor();
    const none = await dlq(server, 'list', '--domain', 'orders');
    expect(none).toMatchObject({ code: 0, stdout: 'there are no dead letters in orders\n' });
    await abandon(server.world, 'orders', 2);
    const letter = await first(server);
    const { stdout } = await dlq(server, 'list');
    expect(stdout).toMatch(/^LETTER +AGE +REASON +MESSAGE +TO +ERROR\n/);
    expect(stdout).toContain(letter);
    expect(stdout).toContain('EXHAUSTED  do       t/puppet/b  UNAVAILABLE: orders did not answer');
    const json = JSON.parse((await dlq(server, 'list', '--limit', '1', '--json')).stdout);
    expect(json).toMatchObject({
      dead_letters: [{ domain: 'orders' }],
      domains: ['actors', 'orders'],
    });
    const shown = await dlq(server, 'show', letter);
    expect(shown.stdout).toMatch(/reason +EXHAUSTED\nerror +UNAVAILABLE[^]*"n": 1/);
  });
});

describe('troupe dlq redrive and drop', () => {
  it('redrive or drop one dead letter, and record who did it and why', async () => {
    const server = await openDoor();
    await abandon(server.world, 'orders', 2);
    const letter = await first(server);
    const sent = await dlq(server, 'redrive', letter, '--why', 'b is back');
    expect(sent).toMatchObject({ code: 0, stderr: '' });
    expect(sent.stdout).toMatch(new RegExp(`^${letter} was redriven as [0-9a-f-]{36}\n$`));
    await eventually(() => expect(server.world.seen(puppet('b'))).toEqual(['do:1']));
    const other = await first(server);
    expect(other).not.toBe(letter);
    const dropped = await dlq(server, 'drop', other, '--why', 'by hand', '--who', 'ada', '--json');
    expect(JSON.parse(dropped.stdout)).toMatchObject({ domain: 'orders' });
    expect(await server.world.system.deadLetters.audits()).toMatchObject([
      { who: `${userInfo().username} (op)`, why: 'b is back', action: 'redrive' },
      { who: 'ada (op)', why: 'by hand', action: 'drop' },
    ]);
    expect((await dlq(server, 'show', letter)).stdout).toContain('redrive by');
  });

  it('redrives all of a domain, and none of another', async () => {
    const server = await openDoor();
    await abandon(server.world, 'orders', 3);
    await abandon(server.world, 'stock', 1);
    const all = await dlq(server, 'redrive', '--all', '--domain', 'orders', '--why', 'b is back');
    expect(all).toMatchObject({ code: 0, stdout: '3 of orders were redriven\n', stderr: '' });
    await eventually(() =>
      expect(server.world.seen(puppet('b'))).toEqual(['do:1', 'do:2', 'do:3']),
    );
    expect(await server.world.system.deadLetters.list()).toMatchObject([{ domain: 'stock' }]);
  });

  it('continues after a refused dead letter, reports it, and exits with 1', async () => {
    const server = await openDoor();
    const error = { code: 'INTERNAL', message: 'gone' };
    const lost = {
      domain: 'orders',
      reason: 'GONE',
      error,
      to: 't/unknown/k',
      event: { type: 'do' },
    };
    await server.world.ask(puppet('a'), { type: 'do', abandons: [lost] });
    await abandon(server.world, 'orders', 1);
    const all = await dlq(server, 'redrive', '--all', '--domain', 'orders', '--why', 'x');
    expect(all).toMatchObject({ code: 1, stdout: '1 of orders were redriven\n' });
    expect(all.stderr).toMatch(/^orders\/\d+: no actor type 'unknown'/);
  });

  it.each([
    [['redrive', 'orders/1'], '--why'],
    [['drop', 'orders/1'], '--why'],
    [['redrive', '--all', '--why', 'x'], '--domain'],
    [['redrive', '--why', 'x'], 'name one dead letter'],
    [['redrive', 'orders/1', '--all', '--why', 'x'], 'name one dead letter'],
    [['drop', 'orders', '--why', 'x'], 'domain/position'],
    [['list', '--domain', 'A.B'], 'is not a domain'],
    [['show', 'orders/9'], 'no dead letter 9'],
  ])('%j is refused with the correct usage', async (args, word) => {
    const server = await openDoor();
    const ended = await dlq(server, ...args);
    expect(ended.code).toBe(2);
    expect(ended.stderr).toContain(word);
  });

  it('report a wrong token, no response, and a server that is not a gateway', async () => {
    const server = await openDoor();
    const at = (url: string, token = SECRET) =>
      runProgram(['dlq', 'list', '--url', url, '--token', token]);
    expect(await at(server.url, 'wrong')).toMatchObject({ code: 4 });
    const unreachable = await at(`ws://127.0.0.1:${await reservePort()}`);
    expect(unreachable).toMatchObject({ code: 3 });
    expect(unreachable.stderr).toContain('Is troupe running?');
    const foreign = await at(`${server.url}/elsewhere`);
    expect(foreign).toMatchObject({ code: 1 });
    expect(foreign.stderr).toContain('status 404');
  });
});
