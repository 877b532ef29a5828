/** `/v1/dead-letters`: how operators read, redrive and discard dead letters, over real HTTP. */
import { describe, expect, it } from 'vitest';
import { eventually } from '../../runtime/eventually.ts';
import { puppet } from '../../runtime/system/world.ts';
import { abandon, type DeadLetterServer, openDoor, SECRET } from './dead-letter-server.ts';

const b = puppet('b');

async function call(
  { url }: DeadLetterServer,
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
const rows = async (server: DeadLetterServer, query = '') =>
  (await call(server, query)).body['dead_letters'] as Row[];

describe('GET /v1/dead-letters', () => {
  it('lists open ones, by time or by domain, without their messages', async () => {
    const server = await openDoor();
    expect((await call(server, '')).body).toEqual({ dead_letters: [], domains: ['actors'] });
    await abandon(server.world, 'orders', 2);
    await abandon(server.world, 'stock', 1);
    const { body } = await call(server, '');
    expect(body['domains']).toEqual(['actors', 'orders', 'stock']);
    expect(await rows(server)).toMatchObject(
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
    expect(await rows(server, '?domain=stock')).toHaveLength(1);
    const [first, second] = await rows(server, '?domain=orders');
    expect(await rows(server, '?domain=orders&limit=1')).toEqual([first]);
    expect(await rows(server, `?domain=orders&from=${second!.position}`)).toEqual([second]);
  });

  it('explains an invalid query', async () => {
    const server = await openDoor();
    for (const [query, what] of [
      ['?limit=1001', /\/limit must be at most 1000/],
      ['?limit=0', /\/limit must be at least 1/],
      ['?from=x', /\/from/],
      ['?domain=A.B', /"A.B" is not a domain/],
      ['?domain=actors-audit', /not a domain/],
    ] as const) {
      expect(await call(server, query)).toMatchObject({
        status: 400,
        body: { error: { code: 'INVALID_ARGUMENT', message: expect.stringMatching(what) } },
      });
    }
    expect(server.faults).toEqual([]);
  });
});

describe('one dead letter', () => {
  it('is shown with its message, redriven once, and records the operator and the reason', async () => {
    const server = await openDoor();
    await abandon(server.world, 'orders', 1);
    const [{ position }] = (await rows(server)) as [Row];
    const { body } = await call(server, `/orders/${position}`);
    expect(body).toMatchObject({
      event: { type: 'do', n: 1, bytes: { base64: Buffer.from('bytes').toString('base64') } },
      audits: [],
    });
    const redriven = await call(server, `/orders/${position}/redrive`, { why: 'b is back' });
    expect(redriven).toMatchObject({ status: 200, body: { domain: 'orders', position } });
    const again = await call(server, `/orders/${position}/redrive`, { why: 'again', who: 'ada' });
    const already = { at: expect.stringMatching(/^2.*Z$/) as string, who: 'op' };
    expect(again).toMatchObject({ status: 200, body: { domain: 'orders', position, already } });
    expect(again.body).not.toHaveProperty('message_id');
    await eventually(() => expect(server.world.seen(b)).toEqual(['do:1']));
    expect(await rows(server)).toEqual([]);
    expect((await call(server, `/orders/${position}`)).body['audits']).toMatchObject([
      { who: 'op', why: 'b is back', action: 'redrive' },
    ]);
    expect((await call(server, `/orders/${position}`)).body['audits']).toHaveLength(1);
  });

  it('is discarded without being sent', async () => {
    const server = await openDoor();
    await abandon(server.world, 'orders', 2);
    const [{ position }] = (await rows(server)) as [Row];
    await call(server, `/orders/${position}/drop`, { why: 'by hand' });
    expect(await rows(server)).toMatchObject([{ domain: 'orders' }]);
    expect(() => server.world.seen(b)).toThrow('does not exist');
  });

  it('is NOT_FOUND if unknown, and stays open if its message is refused', async () => {
    const server = await openDoor();
    for (const path of ['/orders/7', '/orders/7/drop', '/orders/7/redrive'])
      expect(await call(server, path, path.endsWith('7') ? undefined : { why: 'x' })).toMatchObject(
        {
          status: 404,
          body: { error: { code: 'NOT_FOUND' } },
        },
      );
    const error = { code: 'INTERNAL', message: 'gone' };
    const event = { type: 'do' };
    const lost = { domain: 'orders', reason: 'GONE', error, to: 't/unknown/k', event };
    await server.world.ask(puppet('a'), { type: 'do', abandons: [lost] });
    await server.world.letters(1);
    const [{ position }] = (await rows(server)) as [Row];
    expect(await call(server, `/orders/${position}/redrive`, { why: 'x' })).toMatchObject({
      status: 404,
      body: { error: { message: expect.stringContaining("no actor type 'unknown'") } },
    });
    expect(await rows(server)).toHaveLength(1);
  });
});

describe('a caller that is not an operator', () => {
  it('neither sees nor changes a letter', async () => {
    const server = await openDoor();
    await abandon(server.world, 'orders', 1);
    const [{ position }] = (await rows(server)) as [Row];
    const one = `/orders/${position}`;
    const calls = [
      ['', undefined],
      [one, undefined],
      [`${one}/redrive`, { why: 'x' }],
    ] as const;
    for (const [path, body] of [...calls, [`${one}/drop`, { why: 'x' }] as const]) {
      expect(await call(server, path, body, '')).toMatchObject({ status: 401 });
      expect(await call(server, path, body, 'of-a-tenant')).toMatchObject({ status: 403 });
    }
    expect(await rows(server)).toHaveLength(1);
    expect(await server.world.system.deadLetters.audits()).toEqual([]);
  });

  it('and a missing reason are refused', async () => {
    const server = await openDoor();
    await abandon(server.world, 'orders', 1);
    const [{ position }] = (await rows(server)) as [Row];
    for (const body of [{}, { why: '' }, { why: 'x', who: '' }, { why: 'x', by: 'me' }, [], 'x'])
      expect(await call(server, `/orders/${position}/redrive`, body)).toMatchObject({
        status: 400,
        body: { error: { code: 'INVALID_ARGUMENT' } },
      });
    expect(await server.world.system.deadLetters.audits()).toEqual([]);
  });
});
