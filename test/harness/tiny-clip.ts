const box = (type: string, content: Uint8Array): Buffer => {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(8 + content.length, 0);
  head.write(type, 4, 'latin1');
  return Buffer.concat([head, content]);
};

/** What passes for a whole MP4 of that size, at least 24 bytes, filled with one byte. */
export const tinyClip = (bytes = 64, fill = 0): Buffer =>
  Buffer.concat([
    box('ftyp', Buffer.alloc(0)),
    box('moov', Buffer.alloc(0)),
    box('mdat', Buffer.alloc(bytes - 24, fill)),
  ]);
