import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { load, problemsOf } from './folder.ts';

describe('paths of the door for programs', () => {
  it('are beside the configuration file, and URLs stay what they are', () => {
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

  it('do not hide what is wrong with an issuer', () => {
    // Not a TypeError: what is no issuer is named as such.
    expect(problemsOf('{ a2a: { issuers: [null, 7], artifacts: 7 } }')).not.toEqual([]);
  });
});
