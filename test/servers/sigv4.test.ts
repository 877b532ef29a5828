import { describe, expect, it } from 'vitest';
import { scopeOf, type SignedRequest, signatureOf } from './sigv4.ts';

// The examples of the Amazon S3 API Reference, "Signature Calculations for the Authorization
// Header" and "Authenticating Requests: Using Query Parameters".
const SECRET = 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY';
const CREDENTIAL = 'AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request';
const EMPTY = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
const host = 'examplebucket.s3.amazonaws.com';

const headerExample: SignedRequest = {
  method: 'GET',
  target: '/test.txt',
  headers: {
    host,
    range: 'bytes=0-9',
    'x-amz-content-sha256': EMPTY,
    'x-amz-date': '20130524T000000Z',
    authorization:
      `AWS4-HMAC-SHA256 Credential=${CREDENTIAL},` +
      'SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,' +
      'Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
  },
};
const queryExample: SignedRequest = {
  method: 'GET',
  target:
    `/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=${encodeURIComponent(CREDENTIAL)}` +
    '&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host' +
    '&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404',
  headers: { host },
};

describe('the signatures that the S3 server of the tests requires', () => {
  it.each([
    ['in the header', headerExample],
    ['in the query', queryExample],
  ])('are those of the published example, %s', (_, request) => {
    const scope = scopeOf(request)!;
    expect(signatureOf(request, scope, SECRET)).toBe(scope.signature);
  });

  it('differ for another method, path, header or key', () => {
    const scope = scopeOf(headerExample)!;
    const others = [
      { ...headerExample, method: 'PUT' },
      { ...headerExample, target: '/test2.txt' },
      { ...headerExample, target: '/test.txt?acl' },
      { ...headerExample, headers: { ...headerExample.headers, range: 'bytes=0-10' } },
    ];
    for (const other of others) expect(signatureOf(other, scope, SECRET)).not.toBe(scope.signature);
    expect(signatureOf(headerExample, scope, `${SECRET}x`)).not.toBe(scope.signature);
  });
});
