/**
 * Watches the sizes that MQTT packets announce in their fixed header, so that a packet over the cap is refused after
 * five bytes instead of being collected whole by the parser. Returns a function that takes the stream piece by piece and says how
 * many packets end in the piece; undefined when it must not go on.
 */
export function frameGuard(capBytes: number): (chunk: Uint8Array) => number | undefined {
  let skip = 0;
  let length = 0;
  let shift = -1;

  /** One byte of a header: first the type, then one to four bytes of length, seven bits each. */
  function header(byte: number): 'more' | 'end' | 'over' {
    if (shift < 0) {
      shift = 0;
      length = 0;
      return 'more';
    }
    length += (byte & 0x7f) * 2 ** shift;
    shift += 7;
    if (length > capBytes || shift > 28) return 'over';
    if ((byte & 0x80) !== 0) return 'more';
    skip = length;
    shift = -1;
    return 'end';
  }

  return (chunk) => {
    let at = 0;
    let ended = 0;
    while (at < chunk.length) {
      if (skip > 0) {
        const step = Math.min(skip, chunk.length - at);
        skip -= step;
        at += step;
        if (skip === 0) ended += 1;
        continue;
      }
      const is = header(chunk[at] ?? 0);
      if (is === 'over') return undefined;
      at += 1;
      if (is === 'end' && skip === 0) ended += 1;
    }
    return ended;
  };
}
