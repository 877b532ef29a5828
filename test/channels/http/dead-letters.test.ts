/** `/v1/dead-letters`: what operators see of dead letters and do about them, over real HTTP. */
import { describe, expect, it } from 'vitest';
import { eventually } from '../../runtime/eventually.ts';
import { puppet } from '../../runtime/system/world.ts';
import { abandon, type DeadLetterDoor, openDoor, SECRET } from './dead-letter-server.ts';

const b = puppet('b');

async function call(
  { url }: DeadLetterDoor,
  path: string,
  body?: unknown,
  secret: string | undefined = SECRET,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(`${url}/v1/dead-letters${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      'content-type': 'application/json',
      ...(secret ? { authorization: `Bearer ${secret}` } : {}),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

type Row = { readonly domain: string; readonly position: number };
const rows = async (door: DeadLetterDoor, query = '') =>
  (await call(door, query)).body['dead_letters'] as Row[];

describe('GET /v1/dead-letters', () => {
  it('lists open ones, by time or by domain, without their messages', async () => {
    const door = await openDoor();
    expect((await call(door, '')).body).toEqual({ dead_letters: [], domains: ['actors'] });
    await abandon(door.world, 'orders', 2);
    await abandon(door.world, 'stock', 1);
    const { body } = await call(door, '');
    expect(body['domains']).toEqual(['actors', 'orders', 'stock']);
    expect(await rows(door)).toMatchObject(
      ['orders', 'orders', 'stock'].map((domain) => ({
        domain,
        at: expect.stringMatching(/^\d{4}-.*Z$/),
        from: puppet('a'),
        to: b,
        reason: 'EXHAUSTED',
        event_type: 'do',
        error: { code: 'UNAVAILABLE', retry_after_sec: 2 },
      })),
    );
    expect(JSON.stringify(body)).not.toContain('bytes');
    expect(await rows(door, '?domain=stock')).toHaveLength(1);
    const [first, second] = await rows(door, '?domain=orders');
    expect(await rows(door, '?domain=orders&limit=1')).toEqual([first]);
    expect(await rows(door, `?domain=orders&from=${second!.position}`)).toEqual([second]);
  });

  it('explains an invalid query', async () => {
    const door = await openDoor();
    for (const [query, what] of [
      ['?limit=1001', /\/limit must be at most 1000/],
      ['?limit=0', /\/limit must be at least 1/],
      ['?from=x', /\/from/],
      ['?domain=A.B', /"A.B" is no domain/],
      ['?domain=actors-audit', /no domain/],
    ] as const) {
      expect(await call(door, query)).toMatchObject({
        status: 400,
        body: { error: { code: 'INVALID_ARGUMENT', message: expect.stringMatching(what) } },
      });
    }
    expect(door.faults).toEqual([]);
  });
});

describe('one dead letter', () => {
  it('is shown with its message, redriven once, and records by whom and why', async () => {
    const door = await openDoor();
    await abandon(door.world, 'orders', 1);
    const [{ position }] = (await rows(door)) as [Row];
    const { body } = await call(door, `/orders/${position}`);
    expect(body).toMatchObject({
      event: { type: 'do', n: 1, bytes: { base64: Buffer.from('bytes').toString('base64') } },
      audits: [],
    });
    const redriven = await call(door, `/orders/${position}/redrive`, { why: 'b is back' });
    expect(redriven).toMatchObject({ status: 200, body: { domain: 'orders', position } });
    const again = await call(door, `/orders/${position}/redrive`, { why: 'again', who: 'ada' });
    const already = { at: expect.stringMatching(/^2.*Z$/) as string, who: 'op' };
    expect(again).toMatchObject({ status: 200, body: { domain: 'orders', position, already } });
    expect(again.body).not.toHaveProperty('message_id');
    await eventually(() => expect(door.world.seen(b)).toEqual(['do:1']));
    expect(await rows(door)).toEqual([]);
    expect((await call(door, `/orders/${position}`)).body['audits']).toMatchObject([
      { who: 'op', why: 'b is back', action: 'redrive' },
    ]);
    expect((await call(door, `/orders/${position}`)).body['audits']).toHaveLength(1);
  });

  it('is discarded without being sent', async () => {
    const door = await openDoor();
    await abandon(door.world, 'orders', 2);
    const [{ position }] = (await rows(door)) as [Row];
    await call(door, `/orders/${position}/drop`, { why: 'by hand' });
    expect(await rows(door)).toMatchObject([{ domain: 'orders' }]);
    expect(() => door.world.seen(b)).toThrow('does not exist');
  });

  it('is NOT_FOUND if unknown, and stays open if its message is refused', async () => {
    const door = await openDoor();
    for (const path of ['/orders/7', '/orders/7/drop', '/orders/7/redrive'])
      expect(await call(door, path, path.endsWith('7') ? undefined : { why: 'x' })).toMatchObject({
        status: 404,
        body: { error: { code: 'NOT_FOUND' } },
      });
    const error = { code: 'INTERNAL', message: 'gone' };
    const event = { type: 'do' };
    const lost = { domain: 'orders', reason: 'GONE', error, to: 't/nobody/k', event };
    await door.world.ask(puppet('a'), { type: 'do', abandons: [lost] });
    await door.world.letters(1);
    const [{ position }] = (await rows(door)) as [Row];
    expect(await call(door, `/orders/${position}/redrive`, { why: 'x' })).toMatchObject({
      status: 404,
      body: { error: { message: expect.stringContaining("no actor type 'nobody'") } },
    });
    expect(await rows(door)).toHaveLength(1);
  });
});

describe('a caller that is not an operator', () => {
  it('neither sees nor changes a letter', async () => {
    const door = await openDoor();
    await abandon(door.world, 'orders', 1);
    const [{ position }] = (await rows(door)) as [Row];
    const one = `/orders/${position}`;
    const calls = [
      ['', undefined],
      [one, undefined],
      [`${one}/redrive`, { why: 'x' }],
    ] as const;
    for (const [path, body] of [...calls, [`${one}/drop`, { why: 'x' }] as const]) {
      expect(await call(door, path, body, '')).toMatchObject({ status: 401 });
      expect(await call(door, path, body, 'of-a-tenant')).toMatchObject({ status: 403 });
    }
    expect(await rows(door)).toHaveLength(1);
    expect(await door.world.system.deadLetters.audits()).toEqual([]);
  });

  it('and a missing reason are refused', async () => {
    const door = await openDoor();
    await abandon(door.world, 'orders', 1);
    const [{ position }] = (await rows(door)) as [Row];
    for (const body of [{}, { why: '' }, { why: 'x', who: '' }, { why: 'x', by: 'me' }, [], 'x'])
      expect(await call(door, `/orders/${position}/redrive`, body)).toMatchObject({
        status: 400,
        body: { error: { code: 'INVALID_ARGUMENT' } },
      });
    expect(await door.world.system.deadLetters.audits()).toEqual([]);
  });
});
