import { describe, expect, onTestFinished, test } from 'vitest';
import { EventResume } from '../../client/event-resume.ts';
import type { EventFrame, HelloOk } from '../../protocols/gateway/index.ts';
import { MAIN } from '../channels/gateway/client.ts';
import { oneAddress } from '../kill/gateways.ts';
import { eventually } from '../runtime/eventually.ts';
import { clientOf, runGateway } from '../cli/gateway.ts';

const hello = (connId: string, methods = ['events.resume']) =>
  ({ server: { connId, bootId: 'boot' }, features: { methods, events: [] } }) as unknown as HelloOk;
const event = (seq: number, payload: string): EventFrame => ({
  type: 'event',
  event: 'chat',
  payload,
  seq,
});
const namesOf = (events: readonly EventFrame[]) => events.map(({ payload }) => payload);

/** An EventResume that received event 7 and then lost its connection. */
const lostAtSeven = () => {
  const resume = new EventResume();
  expect(resume.onOpen(hello('first'))).toBeUndefined();
  expect(namesOf(resume.onEvent(event(7, 'seven')))).toEqual(['seven']);
  return resume;
};

describe('EventResume, after a lost connection', () => {
  test('requests the missed events, and passes them on before those after the handshake', () => {
    const resume = lostAtSeven();
    expect(resume.onOpen(hello('second'))).toEqual({ connId: 'first', bootId: 'boot', seq: 7 });
    expect(resume.onEvent(event(1, 'ten'))).toEqual([]);
    expect(resume.onResponse({ resumed: true, from: 8, to: 9, frames: 2 })).toEqual([]);
    expect(namesOf(resume.onEvent(event(2, 'eight')))).toEqual(['eight']);
    expect(namesOf(resume.onEvent(event(3, 'nine')))).toEqual(['nine', 'ten']);
    expect(namesOf(resume.onEvent(event(4, 'eleven')))).toEqual(['eleven']);
  });

  test('passes on the held events when the gateway cannot return the missed ones', () => {
    for (const answer of [
      { resumed: true, from: 8, to: 7, frames: 0 },
      { resumed: false, reason: 'too-old' },
      undefined,
    ] as const) {
      const resume = lostAtSeven();
      resume.onOpen(hello('second'));
      resume.onEvent(event(1, 'ten'));
      expect(namesOf(resume.onResponse(answer))).toEqual(['ten']);
    }
  });

  test('requests them again when the next connection is lost before the response', () => {
    const resume = lostAtSeven();
    resume.onOpen(hello('second'));
    resume.onEvent(event(1, 'ten'));
    expect(resume.onOpen(hello('third'))).toEqual({ connId: 'first', bootId: 'boot', seq: 7 });
  });

  test('requests nothing from a gateway without events.resume', () => {
    const resume = lostAtSeven();
    expect(resume.onOpen(hello('second', []))).toBeUndefined();
    expect(namesOf(resume.onEvent(event(1, 'on')))).toEqual(['on']);
  });
});

describe('a client', () => {
  test('receives every event of a run once when its connection breaks', async () => {
    const { url, system, gateway } = await runGateway();
    const address = await oneAddress([gateway.port]);
    onTestFinished(() => address.close());
    const client = await clientOf(address.url, { backoffMs: { first: 200, most: 200 } });
    const watcher = await clientOf(url);
    let text = '';
    let ends = 0;
    client.on('chat', (chat) => {
      if (chat.state === 'delta') text = (chat.replace ? '' : text) + chat.deltaText;
      else ends++;
    });
    const seen: string[] = [];
    watcher.on('chat', (chat) => void seen.push(chat.state));
    await client.request('chat.send', { sessionKey: MAIN, message: 'x', idempotencyKey: 'r' });
    system.say(MAIN, 'one ');
    await eventually(() => expect(text).toBe('one '));
    const lost = new Promise<void>((resolve) => {
      client.watch(({ kind }) => kind === 'waiting' && resolve());
    });
    address.cut();
    await lost;
    system.say(MAIN, 'two ');
    await eventually(() => expect(seen).toEqual(['delta', 'delta']));
    await client.ready();
    system.say(MAIN, 'three');
    system.finish(MAIN, 'one two three');
    await eventually(() => expect(ends).toBe(1));
    expect(text).toBe('one two three');
    await gateway.close();
  });
});
