/**
 * Bytes of an XML document as text. A byte order mark wins, then UTF-8 if the bytes are valid UTF-8 (devices that
 * declare another encoding often send UTF-8 all the same), then what the HTTP header names, then the declared encoding,
 * then Latin-1. Never throws.
 */
export function decodeXml(bytes: Uint8Array, charset?: string): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder('utf-16le').decode(bytes);
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return new TextDecoder('utf-16be').decode(bytes);
  return (
    (looksShifted(bytes) ? tryDecode(bytes, charset) : undefined) ??
    tryDecode(bytes, 'utf-8') ??
    tryDecode(bytes, charset) ??
    tryDecode(bytes, declaredEncoding(bytes)) ??
    Buffer.from(bytes).toString('latin1')
  );
}

/** Encodings whose bytes are valid UTF-8 and mean something else: UTF-16 without a mark, ISO-2022. */
const looksShifted = (bytes: Uint8Array): boolean => bytes.subarray(0, 4).includes(0) || bytes.includes(0x1b);

function tryDecode(bytes: Uint8Array, label: string | undefined): string | undefined {
  if (label === undefined) return undefined;
  try {
    return new TextDecoder(label, { fatal: true }).decode(bytes);
  } catch {
    // Not this encoding, or one this runtime does not know.
    return undefined;
  }
}

function declaredEncoding(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.subarray(0, 200)).toString('latin1');
  return /<\?xml[^>]*\bencoding\s*=\s*["']([A-Za-z0-9._-]+)["']/i.exec(head)?.[1];
}
