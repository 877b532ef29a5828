/** docs/openclaw-compatibility.md agrees with the gateway's methods. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { METHOD_NAMES } from '../../channels/gateway/methods/index.ts';
import { GatewayMethods } from '../../protocols/gateway/index.ts';
import { compatibilityPage } from '../../tools/openclaw-compatibility.ts';
import { document } from '../protocols/gateway/published.ts';

const page = () => readFileSync('docs/openclaw-compatibility.md', 'utf8');

test('the page equals the one generated from the methods of the gateway', () => {
  expect(page()).toBe(compatibilityPage(document));
});

test('the page lists every published method once, as served or with a reason', () => {
  const [before = '', after = ''] = page().split('## Not served');
  const names = Object.keys(document.methods).filter((one) => one !== 'connect');
  const served = names.filter((name) => before.includes(`| \`${name}\` |`));
  const missing = names.filter((name) => after.includes(`\`${name}\``));
  expect(served).toEqual(names.filter((name) => METHOD_NAMES.includes(name)));
  expect(missing).toEqual(names.filter((name) => !METHOD_NAMES.includes(name)));
});

test('hello announces exactly the methods of the table of the protocol', () => {
  const names = Object.keys(GatewayMethods).filter((name) => name !== 'connect');
  expect([...METHOD_NAMES].toSorted()).toEqual(names.toSorted());
});

test('a method of the published protocol needs the scope that it has there', () => {
  const wrong = Object.entries(GatewayMethods).filter(([name, { scope }]) => {
    const published = document.methods[name]?.scope;
    return (
      name !== 'connect' &&
      published !== undefined &&
      published !== 'dynamic' &&
      published !== scope
    );
  });
  expect(wrong.map(([name]) => name)).toEqual([]);
});
