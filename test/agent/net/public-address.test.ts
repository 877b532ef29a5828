import { describe, expect, it } from 'vitest';
import { isPublicAddress } from '../../../agent/net/public-address.ts';

describe('an address', () => {
  it.each([
    '127.0.0.1',
    '127.9.9.9',
    '0.0.0.0',
    '10.1.2.3',
    '::ffff:10.0.0.1',
    '172.31.0.1',
    '64:ff9b::a00:1',
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

  it.each([
    '8.8.8.8',
    '1.1.1.1',
    '172.32.0.1',
    '93.184.216.34',
    '2606:4700::1111',
    '::ffff:8.8.8.8',
  ])('that is public is recognized: %s', (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });
});
