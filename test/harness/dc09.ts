import { createCipheriv, createDecipheriv } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { connect } from 'node:net';

/**
 * A panel's communicator that speaks SIA DC-09, written from the public description and sharing nothing with siteward:
 * table-driven check sum, padding of its own.
 */
const table = Array.from({ length: 256 }, (_, index) => {
  let value = index;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >> 1) ^ 0xa001 : value >> 1;
  return value;
});

export function frame(body: string): string {
  const crc = [...Buffer.from(body, 'latin1')].reduce((sum, byte) => (sum >> 8) ^ (table[(sum ^ byte) & 0xff] ?? 0), 0);
  const hex = (value: number) => value.toString(16).toUpperCase().padStart(4, '0');
  return `\n${hex(crc)}${hex(body.length)}${body}\r`;
}

/** `HH:MM:SS,MM-DD-YYYY` after an underscore. */
export function stamp(wallMs = Date.now()): string {
  const at = new Date(wallMs);
  const two = (value: number) => String(value).padStart(2, '0');
  const day = `${two(at.getUTCMonth() + 1)}-${two(at.getUTCDate())}-${at.getUTCFullYear()}`;
  return `_${two(at.getUTCHours())}:${two(at.getUTCMinutes())}:${two(at.getUTCSeconds())},${day}`;
}

export interface Said {
  readonly id?: 'SIA-DCS' | 'ADM-CID' | 'NULL';
  readonly seq: string;
  readonly account: string;
  /** What stands after the account and `|`; nothing for a link test. */
  readonly data?: string;
  readonly key?: string;
  readonly wallMs?: number;
}

/** One frame, with the time, in clear or encrypted. */
export function frameOf({ id = 'SIA-DCS', seq, account, data, key, wallMs }: Said): string {
  const content = `${data === undefined ? '' : `#${account}|${data}`}]${stamp(wallMs)}`;
  const head = `"${key === undefined ? '' : '*'}${id}"${seq}L0#${account}[`;
  return frame(head + (key === undefined ? content : seal(content, key)));
}

function seal(text: string, key: string): string {
  const length = 16 - ((text.length + 1) % 16) + 16;
  const cipher = createCipheriv(`aes-${key.length * 8}-cbc`, key, Buffer.alloc(16)).setAutoPadding(false);
  return (cipher.update(`${'z'.repeat(length)}|${text}`, 'latin1', 'hex') + cipher.final('hex')).toUpperCase();
}

/** The name of an answer, such as `ACK`; of an encrypted one after its content was opened and found whole. */
export function nameOf(answer: string, key?: string): string | undefined {
  const [, star, name, rest] = /^\n[0-9A-F]{8}"(\*?)([A-Z]+)"[^[]*\[(.*)\r$/s.exec(answer) ?? [];
  if (answer !== frame(answer.slice(9, -1))) return undefined;
  if (star !== '*') return name;
  if (key === undefined || rest === undefined) return undefined;
  const cipher = createDecipheriv(`aes-${key.length * 8}-cbc`, key, Buffer.alloc(16)).setAutoPadding(false);
  const text = cipher.update(rest, 'hex', 'latin1') + cipher.final('latin1');
  return /\|\]_\d\d:\d\d:\d\d,\d\d-\d\d-\d{4}$/.test(text) ? name : undefined;
}

/** Sends bytes and gives the answer; undefined when none came in time, or the connection was refused or ended. */
export function tell(
  port: number,
  text: string,
  options: { udp?: boolean; timeoutMs?: number } = {},
): Promise<string | undefined> {
  const timeoutMs = options.timeoutMs ?? 20_000;
  return options.udp === true ? tellUdp(port, text, timeoutMs) : tellTcp(port, text, timeoutMs);
}

function tellTcp(port: number, text: string, timeoutMs: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    let heard = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(text, 'latin1'));
    const end = (answer?: string) => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(timeoutMs, () => end());
    socket.on('error', () => end());
    socket.on('close', () => end());
    socket.on('data', (bytes) => {
      heard += bytes.toString('latin1');
      if (heard.endsWith('\r')) end(heard);
    });
  });
}

function tellUdp(port: number, text: string, timeoutMs: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = createSocket('udp4');
    const end = (answer?: string) => {
      clearTimeout(timer);
      socket.close();
      resolve(answer);
    };
    const timer = setTimeout(() => end(), timeoutMs);
    socket.once('message', (bytes) => end(bytes.toString('latin1')));
    socket.once('error', () => end());
    socket.send(Buffer.from(text, 'latin1'), port, '127.0.0.1');
  });
}
