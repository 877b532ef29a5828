/**
 * Stored models and thinking levels that are no longer valid: an older version stored them without
 * a check, or their provider was removed from the configuration.
 */
import { expect, it, onTestFinished } from 'vitest';
import { sessionAddress } from '../../actors/index.ts';
import { startModelServer } from '../servers/model-server.ts';
import { install, providerOf } from './installation.ts';

const MAIN = 'agent:main:main';
const PERSON = { sub: 'tester', roles: [] };

/**
 * A session with a low-cost model of Anthropic and settings that no entry point would accept now.
 */
const opened = async (own: object) => {
  const server = await startModelServer({ api: 'anthropic-messages' });
  onTestFinished(() => server.close());
  const id = 'claude-haiku-4-5';
  const troupe = await install({
    config: {
      models: {
        providers: { p: { ...providerOf('anthropic-messages', server), models: [{ id }] } },
      },
      agents: { defaults: { model: `p/${id}`, thinkingLevel: 'low' } },
    },
  });
  const to = sessionAddress('default', MAIN);
  await troupe.system.ask(
    to,
    { type: 'session.set', ...own },
    { principal: PERSON, timeoutMs: 20_000 },
  );
  server.script({ kind: 'answer', deltas: ['Here.'] });
  return { troupe, server };
};

it('an unknown thinking level is replaced by the agent’s level before the request', async () => {
  const { troupe, server } = await opened({ thinking: 'banana' });
  const { row } = await troupe.run(MAIN, 'hello');
  expect(row.status).toBe('ok');
  expect(row.text).toMatch(/^Here\.\n\nThe thinking level "banana" does not exist/);
  expect(server.requests[0]?.body).toMatchObject({
    thinking: { type: 'enabled', budget_tokens: 2_048 },
  });
});

it('an unknown model is replaced by the agent’s model, and the reply says so', async () => {
  const { troupe } = await opened({ model: 'gone/away' });
  const { row } = await troupe.run(MAIN, 'hello');
  expect(row).toMatchObject({ status: 'ok', model: 'p/claude-haiku-4-5' });
  expect(row.text).toBe('Here.\n\nThe model gone/away is unknown: p/claude-haiku-4-5 answered.');
});
