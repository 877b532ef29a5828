import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { load, problemsOf } from './folder.ts';

describe('paths of the entry point for programs', () => {
  it('are relative to the configuration file, and URLs are unchanged', () => {
    const { config, home } = load(`{ a2a: {
      sealingKeyFile: 'seal.jwk',
      signingKeyFile: 'sign.jwk',
      artifacts: { path: 'files' },
      issuers: [
        { issuer: 'a', jwks: 'a.json' },
        { issuer: 'b', jwks: 'https://id.test/jwks' },
      ],
    } }`);
    expect(config.a2a.sealingKeyFile).toBe(join(home, 'seal.jwk'));
    expect(config.a2a.signingKeyFile).toBe(join(home, 'sign.jwk'));
    expect(config.a2a.artifacts.path).toBe(join(home, 'files'));
    expect(config.a2a.issuers.map(({ jwks }) => jwks)).toEqual([
      join(home, 'a.json'),
      'https://id.test/jwks',
    ]);
  });

  it('do not hide the fault of an issuer', () => {
    // Not a TypeError: the report names the value that is no issuer.
    expect(problemsOf('{ a2a: { issuers: [null, 7], artifacts: 7 } }')).not.toEqual([]);
  });
});

describe('issuers of tokens', () => {
  const issuers = (...entries: string[]) =>
    problemsOf(
      `{ a2a: { issuers: [${entries.map((one, n) => `{ issuer: 'i${n}', jwks: 'k', ${one} }`).join()}] } }`,
    );

  it('may have a fixed tenant and roles, or claims and maps', () => {
    const fixed = `tenant: 'acme', roles: ['writer']`;
    const mapped = `tenantClaim: 'hd', tenantMap: { 'a.example': 'acme' }, rolesClaim: 'groups', rolesMap: { g: ['writer'] }`;
    expect(issuers(fixed, mapped, `audience: ['a', 'b'], rolesMap: { g: [] }`)).toEqual([]);
  });

  it.each([
    [`tenant: 'acme', tenantClaim: 'hd'`, 'tenantClaim'],
    [`tenant: 'acme', tenantMap: { a: 'b' }`, 'tenantMap'],
    [`roles: [], rolesClaim: 'groups'`, 'rolesClaim'],
    [`roles: ['a'], rolesMap: { a: ['b'] }`, 'rolesMap'],
    [`tenantMap: {}`, 'tenantMap'],
    [`rolesMap: {}`, 'rolesMap'],
    [`tenant: 'Acme/1'`, 'tenant'],
    [`tenantMap: { a: 'B C' }`, 'tenantMap.a'],
    [`rolesMap: { a: 'operator' }`, 'rolesMap.a'],
    [`audience: []`, 'audience'],
  ])('that contradict themselves are refused: %s', (entry, key) => {
    const paths = issuers(entry).map(({ path }) => path);
    expect(paths.map((path) => path.replace(/^a2a\.issuers\[\d\]\./, ''))).toEqual([key]);
  });

  it('may have only one entry each', () => {
    const twice = [1, 2].map((n) => `{ issuer: 'https://id.test', jwks: 'k${n}' }`);
    const problems = problemsOf(`{ a2a: { issuers: [${twice.join()}] } }`);
    expect(problems).toMatchObject([{ path: 'a2a.issuers[1].issuer' }]);
  });
});
