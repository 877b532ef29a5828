/** An installation that calls another one as an external agent that requires authentication. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { issueToken } from '../../../channels/edge/identity/local-issuer.ts';
import { tokenOf } from '../../../actors/task/remote/agent-tokens.ts';
import { startTroupe } from '../../../main.ts';
import type { ActionSpec } from '../../../protocols/action.ts';
import { isFinal, type TaskView } from '../../../protocols/task.ts';
import { ensureToken, loadConfig, Secret } from '../../../runtime/config/index.ts';
import { eventually } from '../../runtime/eventually.ts';
import { envelope } from '../../channels/edge/real-tasks.ts';
import { spec } from '../listing/walk.ts';

const UPDATE: ActionSpec = { ...spec('agent_data.update_document', '1.0.0'), compensable: false };

/** A whole installation in its own data folder. */
class Cell {
  readonly home = mkdtempSync(join(tmpdir(), 'troupe-cell-'));
  url = '';
  #operator = '';

  async start(a2a: object = {}): Promise<void> {
    writeFileSync(join(this.home, 'troupe.json5'), JSON.stringify({ a2a }));
    const flags = { data: this.home, port: '0' };
    const config = ensureToken(loadConfig({ env: {}, home: this.home, flags }).config);
    const troupe = await startTroupe({ ...config, log: { ...config.log, level: 'error' } });
    this.url = new URL(troupe.url).origin;
    this.#operator = config.gateway.auth.token!.reveal();
    onTestFinished(async () => {
      await troupe.stop();
      rmSync(this.home, { recursive: true, force: true });
    });
  }

  token(sub: string, external: boolean): Promise<string> {
    const resource = 'urn:troupe:a2a';
    const asked = { sub, tenant: 'default', roles: ['writer'], resource, ttlSec: 600, external };
    return issueToken(this.home, asked, Date.now());
  }

  async json(path: string, body?: object): Promise<unknown> {
    const answer = await fetch(`${this.url}${path}`, {
      method: body ? 'POST' : 'GET',
      headers: {
        authorization: `Bearer ${this.#operator}`,
        'content-type': 'application/json',
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    return answer.json();
  }

  /** Submits a task as the operator and waits for its end. */
  async ask(action: string, payload: object): Promise<TaskView> {
    const asked = envelope({
      action,
      action_version: '1.0.0',
      tenant_id: 'default',
      principal: { sub: 'operator', roles: ['operator'] },
      context_id: randomUUID(),
      payload: { schema_version: '1.0', ...payload },
    });
    const { task_id, ...rest } = (await this.json('/v1/envelopes', asked)) as TaskView;
    if (task_id === undefined) throw new Error(JSON.stringify(rest));
    return eventually(async () => {
      const view = (await this.json(`/v1/tasks/${task_id}`)) as TaskView;
      if (!isFinal(view.state)) throw new Error(`it is still ${view.state}`);
      return view;
    });
  }

  register(url: string): Promise<TaskView> {
    const offered = { agent_id: 'partner', version: '1.0.0', url, actions: [UPDATE] };
    return this.ask('registry.register_agent', offered);
  }
}

const offered = (cell: Cell) =>
  eventually(async () => {
    const { actions } = (await cell.json('/mcp/capabilities')) as { actions: ActionSpec[] };
    if (!actions.some(({ action }) => action === UPDATE.action))
      throw new Error('it is not offered yet');
  });

describe('an installation whose external agent requires a token and a signature', () => {
  it('sends its configured token, signs with its published key, and is refused without', async () => {
    const partner = new Cell();
    await partner.start();
    const asker = new Cell();
    await asker.start({
      agents: [],
      agentsOutside: [{ url: partner.url, token: await partner.token('cell-a', true) }],
    });
    await asker.register(`${partner.url}/`);
    await offered(asker);
    const refused = await asker.ask(UPDATE.action, { document_id: 'notes', content: 'too early' });
    expect(refused).toMatchObject({ state: 'FAILED', error: { code: 'UNAUTHORIZED' } });
    const { keys } = (await asker.json('/.well-known/jwks.json')) as { keys: { alg?: string }[] };
    const public_jwk = keys.find(({ alg }) => alg === 'Ed25519');
    await partner.json('/v1/keys', { sub: 'cell-a', public_jwk });
    const done = await eventually(async () => {
      const view = await asker.ask(UPDATE.action, { document_id: 'notes', content: 'signed' });
      expect(view.state).toBe('SUCCEEDED');
      return view;
    });
    expect(done).toMatchObject({ result: { document_id: 'notes', version: 1 } });
  });

  it('is refused without a token', async () => {
    const partner = new Cell();
    await partner.start();
    const asker = new Cell();
    await asker.start({ agents: [] });
    await asker.register(partner.url);
    await offered(asker);
    expect(
      await asker.ask(UPDATE.action, { document_id: 'notes', content: 'who am I?' }),
    ).toMatchObject({
      state: 'FAILED',
      error: { code: 'UNAUTHORIZED' },
    });
  });
});

describe('a token for agents outside', () => {
  const entry = (url: string, token: string, tenant = 'default') => ({
    url,
    tenant,
    token: new Secret(token),
  });
  const find = tokenOf([
    entry('https://partner.example/agents', 'one'),
    entry('https://partner.example/agents/special', 'two'),
    entry('https://partner.example', 'of acme', 'acme'),
  ]);
  const sentTo = async (url: string, tenant_id = 'default') =>
    (await find({ agent_id: 'a', url }, envelope({ tenant_id }))).authorization;

  it('is used for addresses below its URL, the longest match first, and for its tenant', async () => {
    expect(await sentTo('https://partner.example/agents')).toBe('Bearer one');
    expect(await sentTo('https://partner.example/agents/7/')).toBe('Bearer one');
    expect(await sentTo('https://partner.example/agents/special/7')).toBe('Bearer two');
    expect(await sentTo('https://partner.example/agents', 'acme')).toBe('Bearer of acme');
  });

  it.each([
    'https://partner.example/agents2',
    'https://partner.example/',
    'https://partner.example.evil/agents',
    'https://partner.example:444/agents',
    'http://partner.example/agents',
    'https://partner.example/agents/../other',
  ])('does not go to %s', async (url) => {
    expect(await sentTo(url)).toBeUndefined();
  });
});
