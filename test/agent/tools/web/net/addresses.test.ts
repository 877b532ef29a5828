import { describe, expect, it } from 'vitest';
import { checkedUrl, isPublicAddress } from '../../../../../agent/tools/web/net/addresses.ts';

describe('an address', () => {
  it.each([
    '127.0.0.1',
    '127.9.9.9',
    '0.0.0.0',
    '10.1.2.3',
    '172.16.0.1',
    '192.168.1.1',
    '100.64.0.1',
    '169.254.169.254',
    '192.0.2.1',
    '198.18.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '240.0.0.1',
    '::',
    '::1',
    '::ffff:127.0.0.1',
    '::ffff:169.254.169.254',
    '::127.0.0.1',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
    '2001:0:1::',
    '2001:db8::1',
    'fe80::1',
    'fe80::1%eth0',
    'fd00::1',
    'fd00:ec2::254',
    'ff02::1',
    'not an address',
  ])('that is not public is recognized: %s', (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });

  it.each(['8.8.8.8', '1.1.1.1', '93.184.216.34', '2606:4700::1111', '::ffff:8.8.8.8'])(
    'that is public is recognized: %s',
    (address) => {
      expect(isPublicAddress(address)).toBe(true);
    },
  );
});

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
