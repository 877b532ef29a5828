import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { health } from '../../cli/processes/health.ts';
import { runOperation } from '../../cli/run-operation.ts';
import { settings } from '../../operations/settings.ts';

/** A program that is not troupe and answers everything with 200 and `{}`. */
const server = createServer((_, response) => response.end('{}'));
beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
afterAll(() => new Promise<unknown>((resolve) => server.close(resolve)));
const port = () => String((server.address() as AddressInfo).port);

it.each([true, false])('is no gateway for an operation, with --json %s', async (json) => {
  const history = settings.operations.find(({ name }) => name === 'settings.history')!;
  const options = { url: `ws://127.0.0.1:${port()}`, token: 'x', json };
  await expect(runOperation(history, options, {})).rejects.toThrow(/has another form/);
});

it('is not ready', async () => {
  expect(await health({ port: port() })).toBe(1);
});
