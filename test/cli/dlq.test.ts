/** `troupe dlq` as a process, against a real system behind real HTTP. */
import { userInfo } from 'node:os';
import { describe, expect, it } from 'vitest';
import {
  abandon,
  type DeadLetterDoor,
  openDoor,
  SECRET,
} from '../channels/http/dead-letter-server.ts';
import { eventually } from '../runtime/eventually.ts';
import { puppet } from '../runtime/system/world.ts';
import { freePort } from './gateway.ts';
import { runProgram } from './program.ts';

const dlq = ({ url }: DeadLetterDoor, ...args: string[]) =>
  runProgram(['dlq', ...args, '--url', url.replace('http:', 'ws:'), '--token', SECRET]);

const first = async ({ world }: DeadLetterDoor): Promise<string> => {
  const [letter] = await world.system.deadLetters.list();
  return `${letter!.domain}/${letter!.position}`;
};

describe('troupe dlq list and show', () => {
  it('print what an operator needs to decide, and everything as JSON', async () => {
    const door = await openDoor();
    const none = await dlq(door, 'list', '--domain', 'orders');
    expect(none).toMatchObject({ code: 0, stdout: 'there are no dead letters in orders\n' });
    await abandon(door.world, 'orders', 2);
    const letter = await first(door);
    const { stdout } = await dlq(door, 'list');
    expect(stdout).toMatch(/^LETTER +AGE +REASON +MESSAGE +TO +ERROR\n/);
    expect(stdout).toContain(letter);
    expect(stdout).toContain('EXHAUSTED  do       t/puppet/b  UNAVAILABLE: orders did not answer');
    const json = JSON.parse((await dlq(door, 'list', '--limit', '1', '--json')).stdout);
    expect(json).toMatchObject({
      dead_letters: [{ domain: 'orders' }],
      domains: ['actors', 'orders'],
    });
    const shown = await dlq(door, 'show', letter);
    expect(shown.stdout).toMatch(/reason +EXHAUSTED\nerror +UNAVAILABLE[^]*"n": 1/);
  });
});

describe('troupe dlq redrive and drop', () => {
  it('redrive or drop one dead letter, and record who did it and why', async () => {
    const door = await openDoor();
    await abandon(door.world, 'orders', 2);
    const letter = await first(door);
    const sent = await dlq(door, 'redrive', letter, '--why', 'b is back');
    expect(sent).toMatchObject({ code: 0, stderr: '' });
    expect(sent.stdout).toMatch(new RegExp(`^${letter} was redriven as [0-9a-f-]{36}\n$`));
    await eventually(() => expect(door.world.seen(puppet('b'))).toEqual(['do:1']));
    const other = await first(door);
    expect(other).not.toBe(letter);
    const dropped = await dlq(door, 'drop', other, '--why', 'by hand', '--who', 'ada', '--json');
    expect(JSON.parse(dropped.stdout)).toMatchObject({ domain: 'orders' });
    expect(await door.world.system.deadLetters.audits()).toMatchObject([
      { who: `${userInfo().username} (op)`, why: 'b is back', action: 'redrive' },
      { who: 'ada (op)', why: 'by hand', action: 'drop' },
    ]);
    expect((await dlq(door, 'show', letter)).stdout).toContain('redrive by');
  });

  it('redrives all of a domain, and none of another', async () => {
    const door = await openDoor();
    await abandon(door.world, 'orders', 3);
    await abandon(door.world, 'stock', 1);
    const all = await dlq(door, 'redrive', '--all', '--domain', 'orders', '--why', 'b is back');
    expect(all).toMatchObject({ code: 0, stdout: '3 of orders were redriven\n', stderr: '' });
    await eventually(() => expect(door.world.seen(puppet('b'))).toEqual(['do:1', 'do:2', 'do:3']));
    expect(await door.world.system.deadLetters.list()).toMatchObject([{ domain: 'stock' }]);
  });

  it('continues after a refused dead letter, reports it, and exits with 1', async () => {
    const door = await openDoor();
    const error = { code: 'INTERNAL', message: 'gone' };
    const lost = {
      domain: 'orders',
      reason: 'GONE',
      error,
      to: 't/nobody/k',
      event: { type: 'do' },
    };
    await door.world.ask(puppet('a'), { type: 'do', abandons: [lost] });
    await abandon(door.world, 'orders', 1);
    const all = await dlq(door, 'redrive', '--all', '--domain', 'orders', '--why', 'x');
    expect(all).toMatchObject({ code: 1, stdout: '1 of orders were redriven\n' });
    expect(all.stderr).toMatch(/^orders\/\d+: no actor type 'nobody'/);
  });

  it.each([
    [['redrive', 'orders/1'], '--why'],
    [['drop', 'orders/1'], '--why'],
    [['redrive', '--all', '--why', 'x'], '--domain'],
    [['redrive', '--why', 'x'], 'name one dead letter'],
    [['redrive', 'orders/1', '--all', '--why', 'x'], 'name one dead letter'],
    [['drop', 'orders', '--why', 'x'], 'domain/position'],
    [['list', '--domain', 'A.B'], 'is no domain'],
    [['show', 'orders/9'], 'no dead letter 9'],
  ])('%j is refused with the correct usage', async (args, word) => {
    const door = await openDoor();
    const ended = await dlq(door, ...args);
    expect(ended.code).toBe(2);
    expect(ended.stderr).toContain(word);
  });

  it('report a wrong token, no response, and a server that is not a gateway', async () => {
    const door = await openDoor();
    const at = (url: string, token = SECRET) =>
      runProgram(['dlq', 'list', '--url', url, '--token', token]);
    expect(await at(door.url, 'wrong')).toMatchObject({ code: 4 });
    const nobody = await at(`ws://127.0.0.1:${await freePort()}`);
    expect(nobody).toMatchObject({ code: 3 });
    expect(nobody.stderr).toContain('Is troupe running?');
    const foreign = await at(`${door.url}/elsewhere`);
    expect(foreign).toMatchObject({ code: 1 });
    expect(foreign.stderr).toContain('status 404');
  });
});
