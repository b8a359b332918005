import { SitewardError } from '#errors.ts';

/** Samples of 16 bits; those of several channels take turns. */
export interface Wav {
  readonly rate: number;
  readonly channels: number;
  readonly samples: Int16Array;
}

/** What a wav file says of itself, and where its samples are. */
export interface WavLayout {
  /** 1 is PCM, 3 is floating point, 6 and 7 are A-law and µ-law. */
  readonly coding: number;
  readonly rate: number;
  readonly channels: number;
  readonly bits: number;
  readonly data: Buffer;
  readonly seconds: number;
}

const formatBytes = 16;
const extensible = 0xfffe;
const extensibleBytes = 40;
const maxRate = 192_000;
const maxChannels = 8;

/** A wav file of PCM, 16 bits; nothing else. Throws `audio_invalid`. */
export function readWav(bytes: Buffer): Wav {
  const { coding, bits, rate, channels, data } = wavLayout(bytes);
  if (coding !== 1 || bits !== 16) throw invalid('its samples are not PCM of 16 bits');
  return { rate, channels, samples: samplesOf(data) };
}

/**
 * Follows the chunks of a wav file. Every size in it must fit the file, to the byte: what is cut off, lengthened or patched
 * otherwise plays as noise, or for hours. Throws `audio_invalid`.
 */
export function wavLayout(bytes: Buffer): WavLayout {
  if (bytes.length < 12 || bytes.toString('latin1', 0, 4) !== 'RIFF' || bytes.toString('latin1', 8, 12) !== 'WAVE')
    throw invalid('it does not begin as one');
  const end = bytes.readUInt32LE(4) + 8;
  if (end > bytes.length)
    throw invalid(`its header says ${end} bytes, but it has ${bytes.length}: the rest is missing`);
  if (end < bytes.length) throw invalid(`its header says ${end} bytes, but it has ${bytes.length}`);
  let format: Buffer | undefined;
  let data: Buffer | undefined;
  let at = 12;
  while (at < end) {
    if (at + 8 > end) throw invalid('it ends within the header of a chunk');
    const id = bytes.toString('latin1', at, at + 4);
    const begin = at + 8;
    const close = begin + bytes.readUInt32LE(at + 4);
    if (close > end) throw invalid(`its chunk "${printable(id)}" is longer than the file`);
    if (id === 'fmt ' && format !== undefined) throw invalid('it has two descriptions of its format');
    if (id === 'fmt ') format = bytes.subarray(begin, close);
    if (id === 'data' && data !== undefined) throw invalid('it has two chunks of samples');
    if (id === 'data') data = bytes.subarray(begin, close);
    // Chunks begin at even places; some writers leave the last one as it is.
    at = Math.min(end, close + (close % 2));
  }
  if (format === undefined) throw invalid('it has no description of its format');
  if (data === undefined) throw invalid('it has no samples');
  return { ...readFormat(format, data), data };
}

function readFormat(format: Buffer, data: Buffer): Omit<WavLayout, 'data'> {
  if (format.length < formatBytes) throw invalid('the description of its format is too short');
  const tag = format.readUInt16LE(0);
  if (tag === extensible && format.length < extensibleBytes)
    throw invalid('the description of its format is too short');
  const coding = tag === extensible ? format.readUInt16LE(24) : tag;
  const channels = format.readUInt16LE(2);
  const rate = format.readUInt32LE(4);
  const block = format.readUInt16LE(12);
  const bits = format.readUInt16LE(14);
  if (channels < 1 || channels > maxChannels) throw invalid(`it says it has ${channels} channels`);
  if (rate < 1 || rate > maxRate) throw invalid(`it says it has ${rate} samples per second`);
  if (bits % 8 !== 0 || block !== (channels * bits) / 8)
    throw invalid(`it says that ${channels} samples of ${bits} bits are ${block} bytes`);
  if (format.readUInt32LE(8) !== rate * block) throw invalid('its rates do not agree');
  if (data.length === 0) throw invalid('it has no samples');
  if (data.length % block !== 0) throw invalid('it ends within a sample');
  return { coding, rate, channels, bits, seconds: data.length / block / rate };
}

/** A wav file of PCM, 16 bits. */
export function writeWav({ rate, channels, samples }: Wav): Buffer {
  return Buffer.concat([wavHead({ rate, channels }, samples.length / channels), bytesOf(samples)]);
}

/** What stands before so many samples, per channel, of 16 bits. */
export function wavHead({ rate, channels }: { rate: number; channels: number }, samples: number): Buffer {
  const frameBytes = channels * 2;
  const head = Buffer.alloc(44);
  head.write('RIFF', 0, 'latin1');
  head.writeUInt32LE(36 + samples * frameBytes, 4);
  head.write('WAVEfmt ', 8, 'latin1');
  head.writeUInt32LE(formatBytes, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(channels, 22);
  head.writeUInt32LE(rate, 24);
  head.writeUInt32LE(rate * frameBytes, 28);
  head.writeUInt16LE(frameBytes, 32);
  head.writeUInt16LE(16, 34);
  head.write('data', 36, 'latin1');
  head.writeUInt32LE(samples * frameBytes, 40);
  return head;
}

// Every machine siteward runs on keeps the lower byte first, as a wav file does.

/** A copy, as samples begin at even places in memory only. */
const samplesOf = (bytes: Buffer): Int16Array => new Int16Array(new Uint8Array(bytes).buffer, 0, bytes.length >> 1);

const bytesOf = (samples: Int16Array): Uint8Array =>
  new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength);

const printable = (text: string): string => text.replaceAll(/[^ -~]/g, '?');

const invalid = (what: string): SitewardError =>
  new SitewardError('audio_invalid', `the wav file is damaged: ${what}. Save it again from an audio program`, {
    facts: { field: 'file' },
  });
