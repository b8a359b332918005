import { randomBytes } from 'node:crypto';

const headBytes = 12;
const frameBytes = 4;

/**
 * Packs samples of 8 bits into packets of RTP (RFC 3550) on a channel of an RTSP connection (RFC 2326, 10.12), beginning at random
 * numbers.
 */
export function rtpPacker({ payload, channel }: { payload: number; channel: number }): (samples: Buffer) => Buffer {
  const random = randomBytes(10);
  const source = random.readUInt32BE(0);
  let time = random.readUInt32BE(4);
  let sequence = random.readUInt16BE(8);
  /** Set on the first packet of what is said. */
  let marker = 0x80;
  return (samples) => {
    const head = Buffer.alloc(frameBytes + headBytes);
    head[0] = 0x24;
    head[1] = channel;
    head.writeUInt16BE(headBytes + samples.length, 2);
    head[4] = 0x80;
    head[5] = marker | payload;
    head.writeUInt16BE(sequence, 6);
    head.writeUInt32BE(time, 8);
    head.writeUInt32BE(source, 12);
    marker = 0;
    sequence = (sequence + 1) & 0xffff;
    time = (time + samples.length) >>> 0;
    return Buffer.concat([head, samples]);
  };
}
