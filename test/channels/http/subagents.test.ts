/** `/v1/subagents`: agents that work for others, over real HTTP. */
import { describe, expect, it } from 'vitest';
import type { SubagentRow } from '../../../protocols/subagent.ts';
import type { SubagentCensus } from '../../../protocols/subagent-census.ts';
import { holdParent, MAIN } from '../../actors/subagent/parent.ts';
import { openSubagents, SECRET, type SubagentServer } from './subagent-server.ts';

async function call(
  { url }: SubagentServer,
  method: string,
  path: string,
  { body, secret = SECRET }: { body?: unknown; secret?: string } = {},
): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(`${url}/v1/subagents${path}`, {
    method,
    headers: { authorization: `Bearer ${secret}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}
const listed = async (server: SubagentServer, query = '') =>
  ((await call(server, 'GET', query)).body['subagents'] as SubagentRow[]).map(({ id }) => id);
const censusOf = async (server: SubagentServer) =>
  (await call(server, 'GET', '/census')).body as unknown as SubagentCensus;

/** An active one, and an ended one. */
async function openTwo() {
  const server = await openSubagents();
  const parent = await holdParent(server.system);
  await parent.spawn('ended', '[[words:2]] say two');
  await parent.rowWith('ended', { status: 'completed', reported: 'steer' });
  await parent.spawn('going', '[[stall:1]] think forever');
  await parent.rowWith('going', { status: 'running' });
  return { server, parent };
}

describe('/v1/subagents', () => {
  it('lists active ones, those of one parent, and ended ones', async () => {
    const { server } = await openTwo();
    expect(await listed(server)).toEqual(['going']);
    expect(await listed(server, '?all=true')).toEqual(['going', 'ended']);
    expect(await listed(server, `?all=true&session=${encodeURIComponent(MAIN)}`)).toHaveLength(2);
    expect(await listed(server, '?all=true&session=agent:main:mai')).toEqual([]);
    expect(await listed(server, '?all=true&tenant=acme')).toEqual([]);
  });

  it('counts them, and finds the overdue one', async () => {
    const { server } = await openTwo();
    const soon = await censusOf(server);
    expect(soon).toMatchObject({
      counts: { running: 1, completed: 1, reserved: 0 },
      open: [{ id: 'going', parent: MAIN, lateMs: 0, isOverdue: false }],
      unreported: 0,
      overdue: 0,
    });
    server.lookLater(60_000 + 119_000);
    expect((await censusOf(server)).overdue).toBe(0);
    server.lookLater(10_000);
    expect(await censusOf(server)).toMatchObject({ open: [{ isOverdue: true }], overdue: 1 });
  });

  it('sends a message to one, ends it, and reports when there was nothing to end', async () => {
    const { server, parent } = await openTwo();
    const say = { body: { text: 'look here, too' } };
    expect((await call(server, 'POST', '/going/steer', say)).body).toEqual({ delivered: true });
    const kill = { body: { reason: 'enough' } };
    expect((await call(server, 'POST', '/going/kill', kill)).body).toEqual({ killed: ['going'] });
    await parent.rowWith('going', { status: 'killed', reason: 'enough' });
    expect((await call(server, 'POST', '/going/kill', kill)).body).toEqual({ killed: [] });
    const late = await call(server, 'POST', '/going/steer', say);
    expect(late.status).toBe(409);
    expect(JSON.stringify(late.body)).toMatch(/going is killed/);
  });

  it.each([
    ['/x/kill', { reason: 'no' }, 404, /no subagent x/],
    ['/x/steer', { text: 'hello' }, 404, /troupe subagents list/],
    ['/x/kill', {}, 400, /reason/],
    ['/x/steer', { text: '' }, 400, /text/],
  ])('POST %s with %j is refused with a message', async (path, body, status, words) => {
    const server = await openSubagents();
    const answer = await call(server, 'POST', path, { body });
    expect(answer.status).toBe(status);
    expect(JSON.stringify(answer.body)).toMatch(words);
  });

  it('is for operators only', async () => {
    const server = await openSubagents();
    const secret = 'of-another-program';
    const paths = ['', '/census'].map((path) => call(server, 'GET', path, { secret }));
    const kill = call(server, 'POST', '/x/kill', { secret, body: { reason: 'no' } });
    const answers = await Promise.all([...paths, kill]);
    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403]);
  });
});
