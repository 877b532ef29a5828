/**
 * deploy/nats.conf as a test can run it: with the parts that stand there behind a mark (`#acme `,
 * `#tls `), and the places of the test instead of the container's.
 */
import { readFileSync } from 'node:fs';
import { strict as assert } from 'node:assert';

const shipped = new URL('../../deploy/nats.conf', import.meta.url);

export type Places = {
  /** where JetStream stores */
  readonly store: string;
  /** the folder of server.pem and server.key */
  readonly certificates?: string;
};

/** @throws AssertionError when the file no longer has what is replaced here */
export function shippedConfig(parts: readonly string[], { store, certificates }: Places): string {
  let text = readFileSync(shipped, 'utf8');
  const replace = (pattern: RegExp, by: string): void => {
    assert.match(text, pattern);
    text = text.replace(pattern, () => by);
  };
  // startNats takes a port by itself, and nobody looks at the monitor
  replace(/^port: .*$/m, '');
  replace(/^http: .*$/m, '');
  replace(/store_dir: \/data$/m, `store_dir: ${JSON.stringify(store)}`);
  for (const part of parts) replace(new RegExp(`^ *#${part} `, 'gm'), '');
  if (certificates !== undefined) replace(/"\/etc\/troupe\/tls\//g, `"${certificates}/`);
  return text;
}
