import { expect, test } from 'vitest';
import { invitation, urlsOf } from '../../src/cli/access/claim-code.ts';

const addresses = () => ['192.0.2.7', '198.51.100.7', '203.0.113.1', '203.0.113.2', '203.0.113.3'];

test.each([
  ['192.0.2.1:8443', ['https://192.0.2.1:8443/']],
  ['[2001:db8::1]:8443', ['https://[2001:db8::1]:8443/']],
  [
    '[::]:9443',
    ['https://192.0.2.7:9443/', 'https://198.51.100.7:9443/', 'https://203.0.113.1:9443/', 'https://203.0.113.2:9443/'],
  ],
])('a bridge that listens on %s is found at %j', (listen, urls) => {
  expect(urlsOf(listen, addresses)).toEqual(urls);
  expect(urlsOf('0.0.0.0:8443', () => [])).toEqual([]);
});

test('a claim code stands in two halves beside where it is entered and what the certificate must show', () => {
  const way = { urls: ['https://192.0.2.7:8443/', 'https://198.51.100.7:8443/'], fingerprint: 'AB:CD' };
  expect(invitation('01ABCD10', way).split('\n')).toEqual([
    'claim code  01AB-CD10',
    'open        https://192.0.2.7:8443/',
    'or          https://198.51.100.7:8443/',
    'SHA-256     AB:CD',
  ]);
});
