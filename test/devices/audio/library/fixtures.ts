import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeWav } from '#devices/audio/wav.ts';

interface Tone {
  readonly seconds?: number;
  readonly rate?: number;
  readonly channels?: number;
  readonly peak?: number;
  readonly hertz?: number;
}

export const sine = ({ seconds = 1, rate = 44_100, channels = 1, peak = 12_000, hertz = 500 }: Tone): Int16Array =>
  Int16Array.from({ length: Math.round(seconds * rate) * channels }, (_, at) =>
    Math.round(peak * Math.sin((2 * Math.PI * hertz * Math.floor(at / channels)) / rate)),
  );

export const wavOf = (tone: Tone = {}): Buffer =>
  writeWav({ rate: tone.rate ?? 44_100, channels: tone.channels ?? 1, samples: sine(tone) });

/** A wav as ffmpeg writes it in the format of an ending; `more` goes before the output. */
export function encoded(ending: string, wav: Buffer = wavOf({ seconds: 3, channels: 2 }), ...more: string[]): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'siteward-sound-'));
  try {
    const [from, to] = [join(folder, 'in.wav'), join(folder, `out.${ending}`)];
    writeFileSync(from, wav);
    execFileSync('ffmpeg', ['-v', 'error', '-nostdin', '-i', from, ...more, to], { timeout: 60_000 });
    return readFileSync(to);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A flac that says it holds so many samples; 0 says that it does not know. */
export function flacClaiming(flac: Buffer, samples: number): Buffer {
  const bytes = Buffer.from(flac);
  // The last 36 bits of the 8 bytes that begin with the rate.
  const before = bytes.readBigUInt64BE(18);
  bytes.writeBigUInt64BE((before & ~0xf_ffff_ffffn) | BigInt(samples), 18);
  return bytes;
}
