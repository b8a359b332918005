/** One message of RTSP (RFC 2326), line by line as it was sent. */
export interface RtspMessage {
  /** `PLAY rtsp://192.0.2.10/stream RTSP/1.0`, or of an answer `RTSP/1.0 200 OK`. */
  readonly start: string;
  readonly headers: readonly string[];
  readonly body: Buffer;
}

export const isAnswer = ({ start }: RtspMessage): boolean => start.startsWith('RTSP/');

/** The values of all headers of this name, in lower case. */
export const headersNamed = ({ headers }: RtspMessage, name: string): readonly string[] =>
  headers.filter((line) => isNamed(line, name)).map((line) => line.slice(name.length + 1).trim());

const isNamed = (line: string, name: string) => line.slice(0, name.length + 1).toLowerCase() === `${name}:`;

/** The same with this header in place of all of its name, in lower case; undefined takes them away. */
export function withHeader(message: RtspMessage, name: string, line: string | undefined): RtspMessage {
  const others = message.headers.filter((one) => !isNamed(one, name));
  return { ...message, headers: line === undefined ? others : [line, ...others] };
}

export const encodeRtsp = ({ start, headers, body }: RtspMessage): Buffer =>
  Buffer.concat([Buffer.from(`${[start, ...headers].join('\r\n')}\r\n\r\n`, 'latin1'), body]);

const headCap = 16 * 1024;
const bodyCap = 64 * 1024;
const headEnd = '\r\n\r\n';
/** Begins a packet of media: `$`, the channel, two bytes of length (RFC 2326, 10.12). */
const dollar = 0x24;

/**
 * Cuts what arrives on an RTSP connection into messages and the rest, which is media. Holds one message at most, and throws
 * when that is too large to be one.
 */
export function rtspSplitter(take: {
  message(message: RtspMessage): void;
  media(bytes: Buffer): void;
}): (chunk: Buffer) => void {
  let kept: Buffer = Buffer.alloc(0);
  /** Bytes of a packet still to come. */
  let packet = 0;

  /** Takes one piece from the beginning; returns its length, 0 when it is not all there. */
  function next(bytes: Buffer): number {
    if (packet === 0 && bytes[0] === dollar) {
      if (bytes.length < 4) return 0;
      packet = 4 + bytes.readUInt16BE(2);
    }
    if (packet > 0) {
      const part = bytes.subarray(0, packet);
      packet -= part.length;
      take.media(part);
      return part.length;
    }
    const begin = bytes.findIndex((byte) => byte === dollar || (byte >= 0x41 && byte <= 0x5a));
    if (begin === 0) return nextMessage(bytes);
    // Some cameras send blank lines or more between packets; the reader is used to that.
    const stray = begin < 0 ? bytes : bytes.subarray(0, begin);
    take.media(stray);
    return stray.length;
  }

  function nextMessage(bytes: Buffer): number {
    const end = bytes.indexOf(headEnd);
    if (end > headCap || (end < 0 && bytes.length > headCap)) throw new Error('a message has no end');
    if (end < 0) return 0;
    const [start = '', ...headers] = bytes.toString('latin1', 0, end).split('\r\n');
    const head = { start, headers, body: Buffer.alloc(0) };
    const length = Number(headersNamed(head, 'content-length')[0] ?? 0);
    if (!(length >= 0 && length <= bodyCap)) throw new Error('a message is too large');
    const from = end + headEnd.length;
    if (bytes.length < from + length) return 0;
    take.message({ ...head, body: bytes.subarray(from, from + length) });
    return from + length;
  }

  return (chunk) => {
    let bytes = kept.length === 0 ? chunk : Buffer.concat([kept, chunk]);
    for (let taken = 1; taken > 0 && bytes.length > 0; ) {
      taken = next(bytes);
      bytes = bytes.subarray(taken);
    }
    kept = bytes;
  };
}
