import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readWav, wavLayout, writeWav } from '#devices/audio/wav.ts';

const wav = { rate: 48_000, channels: 1, samples: Int16Array.from({ length: 100 }, (_, at) => at * 300 - 15_000) };
const good = writeWav(wav);

const changed = (change: (bytes: Buffer) => void): Buffer => {
  const bytes = Buffer.from(good);
  change(bytes);
  return bytes;
};

/** A chunk in front of the samples. */
const withChunk = (id: string, content: Buffer): Buffer => {
  const head = Buffer.alloc(8);
  head.write(id, 0, 'latin1');
  head.writeUInt32LE(content.length, 4);
  const pad = Buffer.alloc(content.length % 2);
  const bytes = Buffer.concat([good.subarray(0, 36), head, content, pad, good.subarray(36)]);
  bytes.writeUInt32LE(bytes.length - 8, 4);
  return bytes;
};

describe('a wav file', () => {
  it('is read as it was written', () => {
    expect(readWav(good)).toEqual(wav);
    expect(wavLayout(good).seconds).toBeCloseTo(100 / 48_000, 9);
  });

  it('is written so that ffmpeg reads the same samples', () => {
    const args = ['-v', 'error', '-f', 'wav', '-i', 'pipe:0', '-f', 's16le', 'pipe:1'];
    const raw = execFileSync('ffmpeg', args, { input: good, timeout: 30_000 });
    expect(raw).toEqual(good.subarray(44));
  });

  it('may hold other chunks', () => {
    expect(readWav(withChunk('LIST', Buffer.from('INFOodd')))).toEqual(wav);
  });

  it.each<[string, Buffer, RegExp]>([
    ['empty', Buffer.alloc(0), /begin/],
    ['something else', Buffer.from('ID3 and then some more bytes of an mp3'), /begin/],
    ['cut within the samples', good.subarray(0, 150), /rest is missing/],
    ['cut within the header', good.subarray(0, 30), /rest is missing/],
    ['longer than it says', Buffer.concat([good, Buffer.alloc(10)]), /header says/],
    ['of 4 GiB, it says', changed((b) => b.writeUInt32LE(0xffffffff, 4)), /rest is missing/],
    ['with samples that reach beyond it', changed((b) => b.writeUInt32LE(0xfffffff0, 40)), /longer than the file/],
    ['with a chunk that reaches beyond it', changed((b) => b.writeUInt32LE(9_999, 16)), /longer than the file/],
    ['without channels', changed((b) => b.writeUInt16LE(0, 22)), /0 channels/],
    ['with 4096 channels', changed((b) => b.writeUInt16LE(4_096, 22)), /4096 channels/],
    ['without a rate', changed((b) => b.writeUInt32LE(0, 24)), /0 samples per second/],
    ['with a wrong byte rate', changed((b) => b.writeUInt32LE(1, 28)), /rates do not agree/],
    ['with a wrong block size', changed((b) => b.writeUInt16LE(3, 32)), /are 3 bytes/],
    ['with 13 bits', changed((b) => b.writeUInt16LE(13, 34)), /13 bits/],
    ['of floating point', changed((b) => b.writeUInt16LE(3, 20)), /not PCM/],
    ['with no samples', writeWav({ ...wav, samples: new Int16Array(0) }), /no samples/],
    ['with two formats', withChunk('fmt ', good.subarray(20, 36)), /two descriptions/],
    ['with two chunks of samples', withChunk('data', Buffer.alloc(4)), /two chunks/],
    ['without a format', changed((b) => b.write('junk', 12, 'latin1')), /no description/],
  ])('is refused when it is %s', (_, bytes, message) => {
    expect(() => readWav(bytes)).toThrow(
      expect.objectContaining({ code: 'audio_invalid', message: expect.stringMatching(message) }),
    );
  });

  it('that ends within a sample is refused', () => {
    const odd = Buffer.concat([good, Buffer.alloc(1)]);
    odd.writeUInt32LE(odd.length - 8, 4);
    odd.writeUInt32LE(201, 40);
    expect(() => readWav(odd)).toThrow(/within a sample/);
  });

  it('of any bytes is refused or read, and nothing else is thrown', () => {
    const damaged = fc.array(fc.tuple(fc.nat(good.length - 1), fc.nat(255)), { maxLength: 8 }).map((changes) =>
      changed((bytes) => {
        for (const [at, value] of changes) bytes.writeUInt8(value, at);
      }),
    );
    const read = (bytes: Buffer) => {
      try {
        readWav(bytes);
      } catch (error) {
        expect(error).toMatchObject({ code: 'audio_invalid', facts: { field: 'file' } });
      }
    };
    fc.assert(fc.property(damaged, read), { numRuns: 2_000 });
    fc.assert(fc.property(fc.uint8Array({ maxLength: 80 }).map(Buffer.from), read));
  });
});
