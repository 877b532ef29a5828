/**
 * A real nginx and a real Caddy before a gateway, with the configuration of docs/reverse-proxy.md.
 * Only names, ports and files are replaced.
 */
import { strict as assert } from 'node:assert';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { debianProgram } from '../../tools/debian.mjs';
import { blocksOf } from '../docs/pages.ts';
import { write } from '../runtime/config/folder.ts';

export type Proxy = {
  readonly reload: () => void;
  readonly output: () => string;
};

export type ProxyPlaces = {
  /** with cert.pem and key.pem */
  readonly folder: string;
  readonly port: number;
  readonly gatewayPort: number;
};

/** The block of the page in this language, with each text replaced, which it must contain. */
function configuration(language: string, replace: readonly (readonly [string, string])[]): string {
  const block = blocksOf('docs/reverse-proxy.md').find((one) => one.language === language);
  assert(block !== undefined, `the page has no block of ${language}`);
  let { text } = block;
  for (const [from, to] of replace) {
    assert(text.includes(from), `the block of ${language} has no ${from}`);
    text = text.replaceAll(from, to);
  }
  return text;
}

function startNginx({ folder, port, gatewayPort }: ProxyPlaces): Proxy {
  const site = configuration('nginx', [
    ['127.0.0.1:18789', `127.0.0.1:${gatewayPort}`],
    ['listen 443 ssl', `listen 127.0.0.1:${port} ssl`],
    ['/etc/ssl/troupe/', `${folder}/`],
  ]);
  for (const name of ['body', 'proxy', 'other']) mkdirSync(join(folder, name));
  const file = write(
    folder,
    'nginx.conf',
    `daemon off; pid ${folder}/nginx.pid; error_log stderr; worker_processes 1; user root;
     events {}
     http { access_log off; client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy;
       fastcgi_temp_path ${folder}/other; uwsgi_temp_path ${folder}/other;
       scgi_temp_path ${folder}/other;\n${site}\n}`,
  );
  const args = ['-c', file, '-p', folder, '-e', 'stderr'];
  return run('nginx', args, { ready: '', reload: ['-s', 'reload', ...args] });
}

function startCaddy({ folder, port, gatewayPort }: ProxyPlaces): Proxy {
  const site = configuration('caddyfile', [
    ['127.0.0.1:18789', `127.0.0.1:${gatewayPort}`],
    [
      'troupe.example.com {',
      `https://127.0.0.1:${port} {\n\ttls ${folder}/cert.pem ${folder}/key.pem`,
    ],
  ]);
  const admin = `unix/${folder}/admin.sock`;
  const options = `{\n\tadmin ${admin}\n\tauto_https disable_redirects\n\tdefault_bind 127.0.0.1\n}\n`;
  const file = write(folder, 'Caddyfile', `${options}${site}\n`);
  const args = ['--config', file, '--adapter', 'caddyfile'];
  return run('caddy', ['run', ...args], {
    ready: 'serving initial configuration',
    reload: ['reload', ...args, '--address', admin, '--force'],
    env: { XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder, HOME: folder },
  });
}

type RunOptions = {
  readonly ready: string;
  readonly reload: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
};

function run(name: 'nginx' | 'caddy', args: readonly string[], options: RunOptions): Proxy {
  const { path, env: needed } = debianProgram(name)!;
  const env = { PATH: process.env['PATH']!, ...needed, ...options.env };
  const child = spawn(path, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  const ended = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGTERM');
    await ended;
  });
  return {
    output: () => output,
    reload: () => {
      const { status, stderr } = spawnSync(path, options.reload, { env, encoding: 'utf8' });
      assert.equal(status, 0, stderr);
    },
  };
}

export const proxies = { nginx: startNginx, caddy: startCaddy } as const;
