import { extname } from 'node:path';
import { invalidFile } from './limits.ts';

/** Kinds of files that are taken, by what they begin with; a name proves nothing. */
export const soundKinds = ['wav', 'mp3', 'ogg', 'flac', 'm4a'] as const;
export type SoundKind = (typeof soundKinds)[number];

const extensions: Readonly<Record<string, SoundKind>> = {
  '.wav': 'wav',
  '.wave': 'wav',
  '.mp3': 'mp3',
  '.ogg': 'ogg',
  '.oga': 'ogg',
  '.opus': 'ogg',
  '.flac': 'flac',
  '.m4a': 'm4a',
  '.mp4': 'm4a',
  '.aac': 'm4a',
};

const beginnings: Readonly<Record<SoundKind, (bytes: Buffer) => boolean>> = {
  wav: (bytes) => has(bytes, 0, 'RIFF') && has(bytes, 8, 'WAVE'),
  ogg: (bytes) => has(bytes, 0, 'OggS'),
  flac: (bytes) => has(bytes, 0, 'fLaC'),
  m4a: (bytes) => has(bytes, 4, 'ftyp'),
  mp3: (bytes) => has(bytes, 0, 'ID3') || isFrame(bytes),
};

/** What a file is, and whether it is called so. Throws `audio_invalid`. */
export function sniff(bytes: Buffer, fileName = ''): SoundKind {
  const kind = soundKinds.find((one) => beginnings[one](bytes));
  if (kind === undefined)
    throw invalidFile('kind', 'it is no wav, mp3, ogg, flac or m4a, whatever it is called. Save it as one of these');
  const called = extensions[extname(fileName).toLowerCase()];
  if (called !== undefined && called !== kind)
    throw invalidFile('kind', `it is called ${called} but is ${kind}. Name it as what it is`);
  if (kind === 'ogg' && !endsAsOgg(bytes)) throw invalidFile('truncated', 'its end is missing. Get it again');
  return kind;
}

/** Eleven bits set, a known version, layer III. */
function isFrame(bytes: Buffer): boolean {
  if (bytes.length < 4) return false;
  const head = bytes.readUInt16BE(0);
  return (head & 0xffe6) === 0xffe2 && (head & 0x18) !== 0x08;
}

const has = (bytes: Buffer, at: number, text: string): boolean =>
  bytes.toString('latin1', at, at + text.length) === text;

const lastPage = 0x04;
const pageHeaderBytes = 27;

/** The last page of an Ogg stream says that it is the last, and reaches to the end of the file. */
function endsAsOgg(bytes: Buffer): boolean {
  const page = bytes.subarray(bytes.lastIndexOf('OggS', undefined, 'latin1'));
  if (page.length < pageHeaderBytes || (page.readUInt8(5) & lastPage) === 0) return false;
  const lengths = page.subarray(pageHeaderBytes, pageHeaderBytes + page.readUInt8(26));
  const content = lengths.reduce((sum, length) => sum + length, 0);
  return pageHeaderBytes + lengths.length + content === page.length;
}
