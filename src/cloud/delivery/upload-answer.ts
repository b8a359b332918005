import type { WireAnswer } from '#lib/contract/client.ts';
import { jsonOf } from '#lib/json-text.ts';

/** Size and digests of what was sent; the digests in hexadecimal. */
export interface Contents {
  readonly bytes: number;
  readonly sha256: string;
  readonly md5: string;
}

/**
 * What an answer of success to an upload shows: `stored`; a `page`, which no storage sends; `garbled`, which reads as
 * nothing a storage says; or that the storage has `other` contents than those sent.
 */
export type UploadAnswer = 'stored' | 'page' | 'garbled' | 'other';

/** Nothing a storage says about one object is longer. */
const longestText = 64 * 1024;
const longestPlain = 1_024;

/** A storage says nothing, JSON, XML, or a short plain word (S-167). */
export function readUploadAnswer(answer: WireAnswer, sent: Contents): UploadAnswer {
  const type = answer.headers['content-type']?.toLowerCase() ?? '';
  const text = new TextDecoder().decode(answer.body.subarray(0, longestText)).trim();
  if (type.includes('html') || /^<(!doctype html|html|head|body)\b/i.test(text)) return 'page';
  const json = jsonOf(text);
  const isWhole = answer.body.length <= longestText;
  if (!isWhole || !(text === '' || json !== undefined || isXml(type, text) || isPlain(type, text))) return 'garbled';
  return contradicts(answer.headers, json, sent) ? 'other' : 'stored';
}

const isXml = (type: string, text: string): boolean =>
  text.startsWith('<?xml') || (type.includes('xml') && text.startsWith('<'));

const isPlain = (type: string, text: string): boolean =>
  (type === '' || type.startsWith('text/plain')) && text.length <= longestPlain && !/[<\uFFFD\p{Cc}]/u.test(text);

/** Whatever an answer says of the object must be true of the file; most say nothing. */
function contradicts(headers: WireAnswer['headers'], json: unknown, { bytes, sha256, md5 }: Contents): boolean {
  const said = recordOf(json);
  const differs = (value: unknown, mine: string | number) => value !== undefined && value !== mine;
  return (
    [said?.bytes, said?.size].some((value) => typeof value === 'number' && value !== bytes) ||
    differs(hexOf(headers['x-amz-checksum-sha256'], 32), sha256) ||
    differs(wordOf(said?.sha256, 64), sha256) ||
    differs(wordOf(said?.md5, 32), md5) ||
    differs(hexOf(headers['content-md5'], 16), md5) ||
    differs(hexOf(/(?:^|[,\s])md5=([^,\s]+)/.exec(headers['x-goog-hash'] ?? '')?.[1], 16), md5) ||
    differs(md5Tag(headers), md5)
  );
}

/** An `ETag` of 32 digits is the MD5, unless the storage encrypts with keys of its customer. */
function md5Tag(headers: WireAnswer['headers']): string | undefined {
  const isEncrypted =
    headers['x-amz-server-side-encryption']?.startsWith('aws:kms') === true ||
    headers['x-amz-server-side-encryption-customer-algorithm'] !== undefined;
  return isEncrypted ? undefined : wordOf(headers.etag?.replaceAll('"', ''), 32);
}

/** A digest in hexadecimal; undefined for anything else. */
const wordOf = (value: unknown, digits: number): string | undefined =>
  typeof value === 'string' && value.length === digits && /^[0-9a-f]+$/i.test(value) ? value.toLowerCase() : undefined;

/** A digest in base64 as hexadecimal. Of another length it is no such digest: a sum over parts, say. */
function hexOf(base64: string | undefined, length: number): string | undefined {
  if (base64 === undefined || !/^[\w+/]+=*$/.test(base64)) return undefined;
  const bytes = Buffer.from(base64, 'base64');
  return bytes.length === length ? bytes.toString('hex') : undefined;
}

const recordOf = (value: unknown): Readonly<Record<string, unknown>> | undefined =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
