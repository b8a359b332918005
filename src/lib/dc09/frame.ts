/**
 * SIA DC-09 on the wire: `LF CRC 0LLL "ID" seq [R..] L.. #acct [ data ] [xdata] _HH:MM:SS,MM-DD-YYYY CR`. Facts from the
 * public description and from recorded frames. Text is latin1 throughout: one character is one byte, whatever it holds.
 */
export interface Frame {
  /** `SIA-DCS`, `ADM-CID`, `NULL`, an answer, or something this version does not know. */
  readonly id: string;
  readonly isEncrypted: boolean;
  readonly seq: string;
  /** As sent, `R` and `L` included, so that an answer can repeat them: `RF3L77`, `L0`, `L`. */
  readonly line: string;
  /** Absent in a NAK, which stands before any account was understood. */
  readonly account?: string;
  /** Everything after the first `[` and before CR: hex digits when encrypted. */
  readonly rest: string;
}

/** What stands inside a frame, decrypted. */
export interface Content {
  readonly data: string;
  /** The extended data blocks without their brackets, such as `Vhttp://...`. */
  readonly extended: readonly string[];
  /** The sender's clock, milliseconds since 1970 if what it writes is UTC. */
  readonly at?: number;
  /** The same, when it happened, where the sender says that (block `H`). */
  readonly occurred?: number;
}

export type Broken = 'start' | 'crc' | 'length' | 'form';

export const frameCap = 4096;
const LF = '\n';
const CR = '\r';

/** CRC-16, reflected polynomial 0xA001, start 0, over the bytes between the length field and CR. */
function crc16(text: string): number {
  let crc = 0;
  for (let index = 0; index < text.length; index += 1) {
    crc ^= text.charCodeAt(index) & 0xff;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc & 1) === 1 ? (crc >>> 1) ^ 0xa001 : crc >>> 1;
  }
  return crc;
}

/** A body with its check sum and length before it; the length is hexadecimal. */
export function enclose(body: string): string {
  return `${LF}${hex4(crc16(body))}${hex4(body.length)}${body}${CR}`;
}

const hex4 = (value: number): string => value.toString(16).toUpperCase().padStart(4, '0');

const head =
  /^"(\*?)([A-Z0-9-]{1,16})"([0-9]{4})((?:R[0-9A-Fa-f]{0,6})?(?:L[0-9A-Fa-f]{0,6})?)(?:#([0-9A-Za-z]{1,16})|A0)\[/;

/** One frame, from its LF to its CR. A text in place of a frame says what is wrong with it; it gets no answer. */
export function parseFrame(text: string): Frame | Broken {
  const [, crc, length, body] = /^\n([0-9A-Fa-f]{4})([0-9A-Fa-f]{4})(.*)\r$/s.exec(text) ?? [];
  if (crc === undefined || length === undefined || body === undefined) return 'start';
  if (crc16(body) !== Number.parseInt(crc, 16)) return 'crc';
  if (body.length !== Number.parseInt(length, 16)) return 'length';
  const [all, star, id, seq, line, account] = head.exec(body) ?? [];
  if (all === undefined || id === undefined || seq === undefined || line === undefined) return 'form';
  const rest = body.slice(all.length);
  return { id, isEncrypted: star === '*', seq, line, ...(account === undefined ? {} : { account }), rest };
}

const stamp = /_(\d\d):(\d\d):(\d\d),(\d\d)-(\d\d)-(\d{4})$/;

/** What stands after the `[` of a plain frame, or in a decrypted one; undefined when it does not end as it must. */
export function parseContent(rest: string): Content | undefined {
  const [all, ...parts] = stamp.exec(rest) ?? [];
  const text = all === undefined ? rest : rest.slice(0, -all.length);
  if (!text.endsWith(']')) return undefined;
  // From the end, since free text in the data may hold brackets of its own.
  let end = text.length - 1;
  const extended: string[] = [];
  for (let open = text.lastIndexOf('[', end); open > 0 && text[open - 1] === ']'; open = text.lastIndexOf('[', end)) {
    extended.unshift(text.slice(open + 1, end));
    end = open - 1;
  }
  const at = all === undefined ? undefined : moment(parts.map(Number));
  if (all !== undefined && at === undefined) return undefined;
  const occurred = extended.flatMap((block) => momentIn(/^H(_?.*)$/.exec(block)?.[1]) ?? [])[0];
  return {
    data: text.slice(0, end),
    extended,
    ...(at === undefined ? {} : { at }),
    ...(occurred === undefined ? {} : { occurred }),
  };
}

function momentIn(text: string | undefined): number | undefined {
  const [, ...parts] = stamp.exec(`_${text?.replace(/^_/, '')}`) ?? [];
  return moment(parts.map(Number));
}

/** Undefined for a day or an hour that no calendar has. */
function moment([hour, minute, second, month, day, year]: readonly number[]): number | undefined {
  if (year === undefined || month === undefined) return undefined;
  const at = Date.UTC(year, month - 1, day, hour, minute, second);
  const [date, time] = [new Date(at).toISOString().slice(0, 10), new Date(at).toISOString().slice(11, 19)];
  const two = (value: number | undefined) => String(value).padStart(2, '0');
  const same = date === `${year}-${two(month)}-${two(day)}` && time === `${two(hour)}:${two(minute)}:${two(second)}`;
  return same ? at : undefined;
}

/** A moment as frames write it, UTC: `_16:20:01,09-24-2025`. */
export function timestamp(wallMs: number): string {
  const iso = new Date(wallMs).toISOString();
  return `_${iso.slice(11, 19)},${iso.slice(5, 10)}-${iso.slice(0, 4)}`;
}

const header = /\n[0-9A-Fa-f]{8}/;
/** More line ends than this stand in no text. */
const innerCap = 32;

/** Where the CR of a frame that begins at `start` must stand by its length field; undefined when no frame begins there. */
function endOf(text: string, start: number): number | undefined {
  const [, length] = /^\n[0-9A-Fa-f]{4}([0-9A-Fa-f]{4})/.exec(text.slice(start, start + 9)) ?? [];
  const end = length === undefined ? undefined : start + 9 + Number.parseInt(length, 16);
  return end === undefined || end - start >= frameCap ? undefined : end;
}

/**
 * Takes bytes as they come and gives whole frames, LF to CR. What stands between two frames is skipped. A CR within a frame's text
 * does not end it: its length says where it does, unless a whole frame ends before. `overflow` says that a frame grew
 * beyond `frameCap` and the sender is none.
 */
export function createSplitter(): { push(bytes: Uint8Array): { frames: readonly string[]; overflow: boolean } } {
  let pending = '';
  /** Up to here no CR ends a frame. */
  let searched = 0;
  let passed = 0;
  return {
    push(bytes) {
      pending += Buffer.from(bytes).toString('latin1');
      const frames: string[] = [];
      for (;;) {
        const end = pending.indexOf(CR, searched);
        if (end < 0) break;
        const first = pending.slice(0, end).search(header);
        const last = pending.lastIndexOf(LF, end);
        const whole = [first, last].find((start) => start >= 0 && start < end && endOf(pending, start) === end);
        const announced = first < 0 ? undefined : endOf(pending, first);
        if (whole === undefined && announced !== undefined && announced > end && passed < innerCap) {
          searched = end + 1;
          passed += 1;
          continue;
        }
        const start = whole ?? last;
        if (start >= 0 && end - start < frameCap) frames.push(pending.slice(start, end + 1));
        pending = pending.slice(end + 1);
        [searched, passed] = [0, 0];
      }
      const overflow = pending.length > frameCap;
      if (overflow) {
        pending = '';
        [searched, passed] = [0, 0];
      }
      return { frames, overflow };
    },
  };
}
