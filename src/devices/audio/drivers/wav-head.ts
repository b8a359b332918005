import type { SoundFormat } from '../driver.ts';

/** What stands before so many samples, per channel, of 16 bits in a wav file. */
export function wavHead({ rate, channels }: SoundFormat, samples: number): Buffer {
  const frame = channels * 2;
  const head = Buffer.alloc(44);
  head.write('RIFF', 0, 'ascii');
  head.writeUInt32LE(36 + samples * frame, 4);
  head.write('WAVEfmt ', 8, 'ascii');
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(channels, 22);
  head.writeUInt32LE(rate, 24);
  head.writeUInt32LE(rate * frame, 28);
  head.writeUInt16LE(frame, 32);
  head.writeUInt16LE(16, 34);
  head.write('data', 36, 'ascii');
  head.writeUInt32LE(samples * frame, 40);
  return head;
}
