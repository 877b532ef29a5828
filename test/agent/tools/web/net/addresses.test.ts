import { describe, expect, it } from 'vitest';
import { checkedUrl } from '../../../../../agent/tools/web/net/addresses.ts';

describe('a URL', () => {
  it.each([
    'http://127.0.0.1/',
    'http://2130706433/',
    'http://0x7f.1/',
    'http://017700000001/',
    'http://[::1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://169.254.169.254/latest/meta-data/',
  ])('of an address that is not public is refused in every notation: %s', (url) => {
    expect(() => checkedUrl(url, [])).toThrow(/not on the public internet/);
  });

  it.each(['file:///etc/passwd', 'ftp://example.org/', 'javascript:alert(1)', 'example.org', ''])(
    'without http or https is refused: %s',
    (url) => {
      expect(() => checkedUrl(url, [])).toThrow(/not an http or https URL/);
    },
  );

  it('with a password is refused', () => {
    expect(() => checkedUrl('http://ada:secret@example.org/', [])).toThrow(/user name or password/);
  });

  it('of a host in the configuration is accepted, by its port if one is configured', () => {
    expect(checkedUrl('http://127.0.0.1:8080/a', ['127.0.0.1']).pathname).toBe('/a');
    expect(checkedUrl('http://127.0.0.1:8080/a', ['127.0.0.1:8080']).pathname).toBe('/a');
    expect(() => checkedUrl('http://127.0.0.1:8081/a', ['127.0.0.1:8080'])).toThrow(/public/);
  });
});
