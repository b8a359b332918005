import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { readUploadAnswer } from '../../src/cloud/delivery/upload-answer.ts';

const picture = Buffer.from('a picture');
const digest = (name: 'md5' | 'sha256', of: Buffer, as: 'hex' | 'base64') => createHash(name).update(of).digest(as);
const sent = {
  bytes: picture.length,
  sha256: digest('sha256', picture, 'hex'),
  md5: digest('md5', picture, 'hex'),
};

const read = (headers: Record<string, string>, body: string | Buffer = '') =>
  readUploadAnswer(
    { kind: 'answer', status: 200, headers, body: Buffer.from(body as string), sentMono: 0, headMono: 0 },
    sent,
  );

const json = { 'content-type': 'application/json' };
const other = Buffer.from('another picture');

it.each<[string, Record<string, string>, string | Buffer, string]>([
  ['nothing', {}, '', 'stored'],
  ['JSON', json, '{"id":7}', 'stored'],
  ['JSON without a type', {}, '[]', 'stored'],
  ['the XML of a storage', { 'content-type': 'application/xml' }, '<PostResponse/>', 'stored'],
  ['XML without a type', {}, '<?xml version="1.0"?><ok/>', 'stored'],
  ['a plain word', { 'content-type': 'text/plain' }, 'OK', 'stored'],
  ['an empty page', { 'content-type': 'text/html; charset=utf-8' }, '', 'page'],
  ['a page that claims nothing', {}, ' <!DOCTYPE html><title>Hotel</title>', 'page'],
  ['a page that claims to be JSON', json, '<html>', 'page'],
  ['JSON that is none', json, '{"id":', 'garbled'],
  ['bytes that are no text', {}, Buffer.from([0x7b, 0xff, 0xfe, 0]), 'garbled'],
  ['tags of unknown kind', {}, '<b>Accept our terms</b>', 'garbled'],
  ['a novel', { 'content-type': 'text/plain' }, 'x'.repeat(70_000), 'garbled'],
])('%s after an upload', (_what, headers, body, expected) => {
  expect(read(headers, body)).toBe(expected);
});

it.each<[string, (of: Buffer) => [Record<string, string>, string]]>([
  ['Content-MD5', (of) => [{ 'content-md5': digest('md5', of, 'base64') }, '']],
  ['x-goog-hash', (of) => [{ 'x-goog-hash': `crc32c=n03x6A==, md5=${digest('md5', of, 'base64')}` }, '']],
  ['an ETag that is an MD5', (of) => [{ etag: `"${digest('md5', of, 'hex')}"` }, '']],
  ['x-amz-checksum-sha256', (of) => [{ 'x-amz-checksum-sha256': digest('sha256', of, 'base64') }, '']],
  ['a size in JSON', (of) => [json, JSON.stringify({ bytes: of.length })]],
  ['a digest in JSON', (of) => [json, JSON.stringify({ sha256: digest('sha256', of, 'hex').toUpperCase() })]],
])('%s must be that of the file', (_what, echo) => {
  expect(read(...echo(picture))).toBe('stored');
  expect(read(...echo(other))).toBe('other');
});

it.each<[string, Record<string, string>]>([
  ['an ETag that counts parts', { etag: `"${digest('md5', other, 'hex')}-2"` }],
  ['an ETag that is a version', { etag: 'W/"0x8DB"' }],
  [
    'the ETag of a storage that encrypts',
    { etag: `"${digest('md5', other, 'hex')}"`, 'x-amz-server-side-encryption': 'aws:kms' },
  ],
  ['the sum of the sums of parts', { 'x-amz-checksum-sha256': `${digest('sha256', other, 'base64')}-2` }],
])('%s says nothing of the contents', (_what, headers) => {
  expect(read(headers)).toBe('stored');
});
