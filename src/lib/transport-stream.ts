/**
 * Cuts an MPEG transport stream into coded pictures, as ffmpeg writes it where one video stream is copied
 * (`-f mpegts`, ISO/IEC 13818-1). Nothing is decoded.
 */
export interface StreamCutter {
  /** Throws where it is no such stream, or one picture grows beyond `maxPictureBytes`. */
  push(chunk: Buffer, mono: number): void;
}

export interface CodedPicture {
  /** Can be decoded without those before it. */
  readonly isKey: boolean;
  /** When its first bytes came. */
  readonly mono: number;
  readonly bytes: Buffer;
}

/** What stands before the first picture, and before any that is read by itself. */
export interface StreamTables {
  readonly bytes: Buffer;
  readonly codec: 'h264' | 'h265' | 'other';
}

const packetBytes = 188;
const maxPictureBytes = 8_000_000;
/** What ffmpeg gives the table of its streams and the first of them. */
const tablePid = 0x1000;
const videoPid = 0x100;

/** A picture is told when the next one begins. */
export function createStreamCutter(options: {
  onTables: (tables: StreamTables) => void;
  onPicture: (picture: CodedPicture) => void;
}): StreamCutter {
  let rest: Buffer = Buffer.alloc(0);
  /** Parts of the picture that is coming in, at first of the tables. */
  let parts: Buffer[] = [];
  let partBytes = 0;
  let picture: { readonly isKey: boolean; readonly mono: number } | undefined;

  function add(part: Buffer): void {
    parts.push(part);
    partBytes += part.length;
    if (partBytes > maxPictureBytes) throw new Error(`a picture has more than ${maxPictureBytes} bytes`);
  }

  function finish(): void {
    // A copy: parts would keep whole chunks in memory.
    const bytes = Buffer.concat(parts);
    parts = [];
    partBytes = 0;
    if (picture === undefined) options.onTables({ bytes, codec: codecIn(bytes) });
    else options.onPicture({ ...picture, bytes });
  }

  return {
    push(chunk, mono) {
      const data = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      const end = data.length - (data.length % packetBytes);
      let from = 0;
      for (let at = 0; at < end; at += packetBytes) {
        if (data[at] !== 0x47) throw new Error('not a transport stream');
        if (pidAt(data, at) !== videoPid || !isBegin(data, at)) continue;
        add(data.subarray(from, at));
        finish();
        picture = { isKey: isRandomAccess(data, at), mono };
        from = at;
      }
      add(data.subarray(from, end));
      rest = data.subarray(end);
    },
  };
}

const byte = (data: Buffer, at: number): number => data[at] ?? 0;
const pidAt = (data: Buffer, at: number): number => ((byte(data, at + 1) & 0x1f) << 8) | byte(data, at + 2);
const isBegin = (data: Buffer, at: number): boolean => (byte(data, at + 1) & 0x40) !== 0;
/** Only an adaptation field that has content says so. */
const isRandomAccess = (data: Buffer, at: number): boolean =>
  (byte(data, at + 3) & 0x20) !== 0 && byte(data, at + 4) > 0 && (byte(data, at + 5) & 0x40) !== 0;

/** The table of streams: behind a header of 4 bytes, a pointer, 12 bytes and what is said of the programme. */
function codecIn(tables: Buffer): StreamTables['codec'] {
  for (let at = 0; at < tables.length; at += packetBytes) {
    if (pidAt(tables, at) !== tablePid) continue;
    const type = byte(tables, at + 17 + (((byte(tables, at + 15) & 0x0f) << 8) | byte(tables, at + 16)));
    return type === 0x1b ? 'h264' : type === 0x24 ? 'h265' : 'other';
  }
  return 'other';
}
