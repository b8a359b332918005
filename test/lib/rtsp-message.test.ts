import fc from 'fast-check';
import { expect, test } from 'vitest';
import { encodeRtsp, headersNamed, type RtspMessage, rtspSplitter, withHeader } from '#lib/rtsp-message.ts';

const packet = (length: number) => {
  const bytes = Buffer.alloc(4 + length, 'RTSP/1.0 200 OK\r\n\r\n$');
  bytes[0] = 0x24;
  bytes[1] = 0;
  bytes.writeUInt16BE(length, 2);
  return bytes;
};
const described: RtspMessage = {
  start: 'RTSP/1.0 200 OK',
  headers: ['CSeq: 2', 'Content-Length: 9'],
  body: Buffer.from('v=0\r\n\r\n$x'),
};
const playing: RtspMessage = { start: 'PLAY rtsp://c/ RTSP/1.0', headers: ['CSeq: 3'], body: Buffer.alloc(0) };

function split(chunks: readonly Buffer[]) {
  const messages: RtspMessage[] = [];
  const media: Buffer[] = [];
  const feed = rtspSplitter({ message: (one) => messages.push(one), media: (bytes) => media.push(bytes) });
  for (const chunk of chunks) feed(chunk);
  return { messages, media: Buffer.concat(media) };
}

test('messages and media are told apart wherever the chunks are cut', () => {
  const media = [packet(300), packet(0), Buffer.from('\r\n\0\0'), packet(65_535)];
  const whole = Buffer.concat([media[0]!, encodeRtsp(described), ...media.slice(1), encodeRtsp(playing)]);
  fc.assert(
    fc.property(fc.array(fc.nat(whole.length), { maxLength: 30 }), (cuts) => {
      const at = [0, ...cuts.toSorted((a, b) => a - b), whole.length];
      const found = split(at.slice(1).map((end, index) => whole.subarray(at[index], end)));
      expect(found.messages).toEqual([described, playing]);
      expect(found.media.equals(Buffer.concat(media))).toBe(true);
    }),
  );
});

test('a message without an end, or too large, is none', () => {
  expect(() => split([Buffer.from(`RTSP/1.0 200 OK\r\nX: ${'x'.repeat(20_000)}`)])).toThrow('no end');
  expect(() => split([Buffer.from(`RTSP/1.0 200 OK\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`)])).toThrow('no end');
  for (const length of ['99999999', '-1', 'many'])
    expect(() => split([Buffer.from(`RTSP/1.0 200 OK\r\ncontent-length: ${length}\r\n\r\n`)])).toThrow('too large');
});

test('headers are found and replaced in any case', () => {
  expect(headersNamed(described, 'cseq')).toEqual(['2']);
  expect(withHeader(described, 'cseq', 'CSeq: 7').headers).toEqual(['CSeq: 7', 'Content-Length: 9']);
  expect(withHeader(described, 'content-length', undefined).headers).toEqual(['CSeq: 2']);
});
