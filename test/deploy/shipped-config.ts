/**
 * deploy/nats.conf in a form that a test can run: with the parts behind a mark (`#acme `, `#tls `)
 * and with paths of the test instead of the container's.
 */
import { readFileSync } from 'node:fs';
import { strict as assert } from 'node:assert';

const shipped = new URL('../../deploy/nats.conf', import.meta.url);

export type Places = {
  /** JetStream's storage folder */
  readonly store: string;
  /** the folder of server.pem and server.key */
  readonly certificates?: string;
};

/** @throws AssertionError when the file no longer contains what is replaced here */
export function shippedConfig(parts: readonly string[], { store, certificates }: Places): string {
  let text = readFileSync(shipped, 'utf8');
  const replace = (pattern: RegExp, by: string): void => {
    assert.match(text, pattern);
    text = text.replace(pattern, () => by);
  };
  // startNats chooses a port, and the monitor is not used
  replace(/^port: .*$/m, '');
  replace(/^http: .*$/m, '');
  replace(/store_dir: \/data$/m, `store_dir: ${JSON.stringify(store)}`);
  for (const part of parts) replace(new RegExp(`^ *#${part} `, 'gm'), '');
  if (certificates !== undefined) replace(/"\/etc\/troupe\/tls\//g, `"${certificates}/`);
  return text;
}
