/** Validation of what a node declares. */
import { expect, it } from 'vitest';
import { surfaceOf } from '../../../../channels/gateway/devices/node-surface.ts';
import { SURFACE_CHARACTERS_MAX } from '../../../../protocols/device.ts';
import type { ConnectParams } from '../../../../protocols/gateway/index.ts';

const said = (more: object): ConnectParams => ({
  minProtocol: 3,
  maxProtocol: 4,
  client: { id: 'node-host', version: '1', platform: 'linux', mode: 'node' },
  role: 'node',
  ...more,
});

it('drops commands whose schemas exceed the limit, and never only a schema', () => {
  const names = Array.from({ length: 200 }, (_, n) => `do.thing${n}`);
  const params = { description: 'x'.repeat(2_000) };
  const commands = Object.fromEntries(names.map((name) => [name, { params }]));
  const surface = surfaceOf(said({ commands: names, troupe: { commands } }));
  expect(surface.commands.length).toBeGreaterThan(20);
  expect(surface.commands.length).toBeLessThan(200);
  expect(surface.commands.every((command) => command.params !== undefined)).toBe(true);
  expect(JSON.stringify(surface).length).toBeLessThan(SURFACE_CHARACTERS_MAX);
});

it('drops invalid names', () => {
  const surface = surfaceOf(
    said({ commands: ['camera.snap', '../x', '__proto__', 'camera.snap'] }),
  );
  expect(surface.commands).toEqual([{ name: 'camera.snap' }]);
});
