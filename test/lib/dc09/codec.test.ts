import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  ack,
  createSplitter,
  decrypt,
  duh,
  enclose,
  encrypt,
  type Frame,
  frameCap,
  isTimely,
  keysOf,
  nak,
  parseContent,
  parseFrame,
  parseReports,
  timestamp,
} from '#lib/dc09/index.ts';

const samples = fileURLToPath(new URL('../../../../shared/data/panel-samples/sia_dc09_frames.jsonl', import.meta.url));
const isMissing = !existsSync(samples);

interface Row {
  readonly dir: 'wire' | 'wire_body';
  readonly frame: string;
  readonly means: Readonly<Record<string, string | boolean>>;
}

const rows: readonly Row[] = isMissing
  ? []
  : readFileSync(samples, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Row);

function frameOf(text: string): Frame {
  const frame = parseFrame(text);
  if (typeof frame === 'string') throw new Error(`${JSON.stringify(text)}: ${frame}`);
  return frame;
}

/** The body that stands between the length and CR. */
const bodyOf = (text: string) => text.slice(9, -1);
const afterBracket = (text: string) => parseContent(frameOf(text).rest);

/** Account, sequence and first report of a frame, as the rows of the samples have them. */
function read(text: string) {
  const { id, seq, account, rest } = frameOf(text);
  const content = parseContent(rest);
  return { id, seq, account, reports: content === undefined ? undefined : parseReports(id, content.data) };
}

describe.skipIf(isMissing)('recorded frames (shared samples)', () => {
  const frames = rows.filter(({ dir }) => dir === 'wire');

  it('are eight frames and four bodies', () => {
    expect(frames).toHaveLength(8);
    expect(rows).toHaveLength(12);
  });

  it.each(frames.map((row) => [row.frame, row.means] as const))('reads %j as stated', (frame, means) => {
    const found = read(frame);
    expect(found.id).toBe(
      means.nak === true ? 'NAK' : means.ack === true ? 'ACK' : means.supervision === true ? 'NULL' : 'SIA-DCS',
    );
    if (means.account !== undefined) expect(found.account).toBe(means.account);
    if (means.seq !== undefined) expect(found.seq).toBe(means.seq);
    if (means.sia !== undefined) expect(found.reports).toMatchObject([{ sia: means.sia }]);
    else expect(found.reports).toEqual([]);
  });

  it.each(frames.map((row) => row.frame))('makes %j again byte for byte', (frame) => {
    expect(enclose(bodyOf(frame))).toBe(frame);
  });

  it.each(rows.filter(({ dir }) => dir === 'wire_body').map((row) => [row.frame, row.means] as const))(
    'reads the body %j as stated',
    (body, means) => {
      const isContactId = means.contact_id !== undefined;
      const [report] = parseReports(isContactId ? 'ADM-CID' : 'SIA-DCS', body) ?? [];
      if (isContactId) expect(report).toEqual({ contactId: means.contact_id, area: means.group, number: means.zone });
      else if (means.user !== undefined) expect(report).toMatchObject({ sia: means.sia, number: means.user });
      else
        expect(report).toMatchObject({ sia: means.sia, ...(means.zone === undefined ? {} : { number: means.zone }) });
    },
  );

  it('answers the link test of the samples with the answer its panel accepted', () => {
    const test = frames.find(({ frame }) => frame.includes('"NULL"0000L0#1409'))?.frame ?? '';
    const answer = frames.find(({ frame }) => frame.includes('"ACK"'))?.frame;
    expect(ack(frameOf(test))).toBe(answer);
  });

  it('makes the NAK of the samples from its moment', () => {
    expect(nak(Date.UTC(2025, 8, 24, 16, 20, 1))).toBe(frames.find(({ means }) => means.nak === true)?.frame);
  });
});

describe('frames', () => {
  const plain = '"SIA-DCS"0042R1L2#00AB[#00AB|Nri1/BA007]_10:20:30,02-29-2028';

  it('keep sequence, line and account as they came', () => {
    expect(frameOf(enclose(plain))).toEqual({
      id: 'SIA-DCS',
      isEncrypted: false,
      seq: '0042',
      line: 'R1L2',
      account: '00AB',
      rest: '#00AB|Nri1/BA007]_10:20:30,02-29-2028',
    });
    expect(afterBracket(enclose(plain))).toEqual({
      data: '#00AB|Nri1/BA007',
      extended: [],
      at: Date.UTC(2028, 1, 29, 10, 20, 30),
    });
  });

  it.each(['L', 'L0', 'R1L1', 'RF3L77', 'Rf3L77', 'RL', ''])(
    'may write receiver and line as "%s", and get it back',
    (line) => {
      const frame = frameOf(enclose(`"NULL"0000${line}#1234[]`));
      expect(frame.line).toBe(line);
      expect(bodyOf(ack(frame))).toBe(`"ACK"0000${line}#1234[]`);
      expect(bodyOf(duh(frame))).toBe(`"DUH"0000${line}#1234[]`);
    },
  );

  it('may carry extended data', () => {
    const frame = enclose('"SIA-DCS"0001L0#1[#1|NBA1][X010E57.1][Y59N50.2]_10:20:30,01-02-2026');
    expect(afterBracket(frame)).toMatchObject({ data: '#1|NBA1', extended: ['X010E57.1', 'Y59N50.2'] });
  });

  it('are broken when a byte, the check sum or the length differs', () => {
    const good = enclose(plain);
    expect(parseFrame(good.replace('BA007', 'BA008'))).toBe('crc');
    expect(parseFrame(`\n0000${good.slice(5)}`)).toBe('crc');
    // The length as a decimal number, as the hexadecimal one must not be read.
    expect(parseFrame(`${good.slice(0, 5)}00${plain.length}${good.slice(9)}`)).toBe('length');
    expect(parseFrame(good.slice(1))).toBe('start');
    expect(parseFrame(enclose('"SIA-DCS"42L0#1[]'))).toBe('form');
  });

  it('hold no day that no calendar has, and no text after their end', () => {
    expect(parseContent(']_10:20:30,02-30-2026')).toBeUndefined();
    expect(parseContent(']_24:20:30,02-20-2026')).toBeUndefined();
    expect(parseContent('#1|NBA1')).toBeUndefined();
    expect(parseContent('#1|NBA1]more')).toBeUndefined();
  });

  it('may hold brackets in free text', () => {
    const frame = enclose('"SIA-DCS"0001L0#1[#1|Nri1/BA7^Door [left] ]^][Vhttp://a]_10:20:30,01-02-2026');
    expect(afterBracket(frame)).toMatchObject({ data: '#1|Nri1/BA7^Door [left] ]^', extended: ['Vhttp://a'] });
    expect(read(frame).reports).toEqual([{ sia: 'BA', number: '7', area: '1' }]);
  });

  it('read back what was written, any single changed byte apart', () => {
    fc.assert(
      fc.property(
        fc.stringMatching(/^[ -Z^-~]{0,80}$/),
        fc.nat(),
        fc.integer({ min: 1, max: 255 }),
        (data, at, change) => {
          const frame = enclose(`"SIA-DCS"0001L0#1234[${data}]`);
          expect(afterBracket(frame)?.data).toBe(data);
          const bytes = Buffer.from(frame, 'latin1');
          // Behind the head of the frame: those bytes are what the check sum guards.
          const place = 9 + (at % (bytes.length - 10));
          bytes[place] = (bytes[place] ?? 0) ^ change;
          expect(parseFrame(bytes.toString('latin1'))).toBe('crc');
        },
      ),
    );
  });

  it('read nothing, and never throw, from any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
        const frame = parseFrame(enclose(text));
        if (typeof frame !== 'string') parseReports(frame.id, parseContent(frame.rest)?.data ?? '');
        parseReports('SIA-DCS', text);
        parseReports('ADM-CID', text);
      }),
    );
  });
});

describe('a stream of bytes', () => {
  it('gives the same frames however it is cut, and skips what stands between them', () => {
    const one = enclose('"NULL"0000L0#1234[]');
    const two = enclose('"SIA-DCS"0001L0#1234[#1234|NBA1]');
    const bytes = Buffer.from(`garbage${one}\r\nmore${two}`, 'latin1');
    fc.assert(
      fc.property(fc.array(fc.nat({ max: bytes.length }), { maxLength: 6 }), (cuts) => {
        const splitter = createSplitter();
        const places = [0, ...cuts.sort((a, b) => a - b), bytes.length];
        const frames = places.flatMap((from, index) => splitter.push(bytes.subarray(from, places[index + 1])).frames);
        expect(frames.filter((frame) => typeof parseFrame(frame) !== 'string')).toEqual([one, two]);
      }),
    );
  });

  it('may hold line ends in the text of a frame, with broken frames before it', () => {
    const odd = enclose('"SIA-DCS"0001L0#1234[#1234|Nri1/BA001^Front\r\ndoor\r^]');
    const two = enclose('"NULL"0000L0#1234[]');
    const cut = odd.slice(0, 30);
    for (const [text, good] of [
      [odd + two, [odd, two]],
      [`\r\n${odd}\r\n${two}\r\n`, [odd, two]],
      // The length of a frame that was cut off holds no other back.
      [`${cut}\r${two}`, [two]],
      [`${cut}${two}${odd}`, [two, odd]],
      [`\n00000FF0${two}`, [two]],
      [`\n00000FF0${'\r'.repeat(100)}${odd}`, [odd]],
    ] as const) {
      const splitter = createSplitter();
      const bytes = [...Buffer.from(text, 'latin1')];
      const frames = bytes.flatMap((byte) => splitter.push(Uint8Array.of(byte)).frames);
      expect(frames.filter((frame) => typeof parseFrame(frame) !== 'string')).toEqual(good);
      const whole = createSplitter().push(Buffer.from(text, 'latin1')).frames;
      expect(whole.filter((frame) => typeof parseFrame(frame) !== 'string')).toEqual(good);
    }
  });

  it('without an end is noticed at the cap', () => {
    const splitter = createSplitter();
    expect(splitter.push(Buffer.alloc(frameCap, 65)).overflow).toBe(false);
    expect(splitter.push(Buffer.alloc(1, 65)).overflow).toBe(true);
    expect(splitter.push(Buffer.from(enclose('"NULL"0000L0#1[]'), 'latin1')).frames).toHaveLength(1);
  });
});

describe('encryption', () => {
  const text = '#1234|Nri1/BA001]_10:20:30,01-02-2026';

  it.each([16, 24, 32])('with a key of %i bytes comes back, and with another key does not', (bytes) => {
    const [key] = keysOf('k'.repeat(bytes));
    const [other] = keysOf('x'.repeat(bytes));
    if (key === undefined || other === undefined) throw new Error('no key');
    const hex = encrypt(text, key);
    expect(hex).toMatch(/^[0-9A-F]+$/);
    expect(hex.length % 32).toBe(0);
    expect(decrypt(hex, key)).toBe(text);
    expect(decrypt(hex, other)).not.toBe(text);
  });

  it('gives the bytes that AES-128-CBC of the padded text gives', () => {
    // openssl enc -aes-128-cbc -K 6b6b...6b -iv 00...00 -nopad over thirty A and "|]".
    const [key] = keysOf('k'.repeat(16));
    if (key === undefined) throw new Error('no key');
    const padded = encrypt(']', key, (length) => 'A'.repeat(length));
    expect(padded).toBe('CB407D0A865FB7EC493E03D29CFBBA03FCBD0255E9B050E1E10BC337381B563C');
    expect(decrypt(padded, key)).toBe(']');
  });

  it('never gives the same hex twice for the same text', () => {
    const [key] = keysOf('k'.repeat(16));
    if (key === undefined) throw new Error('no key');
    expect(encrypt(text, key)).not.toBe(encrypt(text, key));
  });

  it('takes a key as characters or as hex digits, and as both where it may be either', () => {
    expect(keysOf('0123456789abcdef').map(({ length }) => length)).toEqual([16]);
    expect(keysOf('0123456789abcdef'.repeat(2)).map(({ length }) => length)).toEqual([32, 16]);
    expect(keysOf('0123456789abcdef'.repeat(3)).map(({ length }) => length)).toEqual([24]);
    expect(keysOf('0123456789abcdef'.repeat(4)).map(({ length }) => length)).toEqual([32]);
    expect(keysOf('too short')).toEqual([]);
  });

  it('reads nothing from what is no whole number of blocks', () => {
    const [key] = keysOf('k'.repeat(16));
    if (key === undefined) throw new Error('no key');
    expect(decrypt('', key)).toBeUndefined();
    expect(decrypt('AB', key)).toBeUndefined();
    expect(decrypt('XY'.repeat(16), key)).toBeUndefined();
  });

  it('answers an encrypted frame with an encrypted acknowledgement that carries the time', () => {
    const [key] = keysOf('k'.repeat(16));
    if (key === undefined) throw new Error('no key');
    const frame = frameOf(enclose(`"*SIA-DCS"0007R2L3#1234[${encrypt(text, key)}`));
    const answer = frameOf(ack(frame, { key, wallMs: Date.UTC(2026, 0, 2, 10, 20, 31) }));
    expect(answer).toMatchObject({ id: 'ACK', isEncrypted: true, seq: '0007', line: 'R2L3', account: '1234' });
    expect(decrypt(answer.rest, key)).toBe(']_10:20:31,01-02-2026');
  });
});

describe('reports', () => {
  it.each([
    ["#1234|Nti10:30/id7/ri2/OP7*'Anna'NM", [{ sia: 'OP', number: '7', area: '2', user: '7' }]],
    [
      '#1234|Nri1/BA001/BA002',
      [
        { sia: 'BA', number: '001', area: '1' },
        { sia: 'BA', number: '002', area: '1' },
      ],
    ],
    ['#1234|Nri1BA12', [{ sia: 'BA', number: '12', area: '1' }]],
    ['#1234|Ori1/CL3', [{ sia: 'CL', number: '3', area: '1', past: true }]],
    ['#1234|NNL5', [{ sia: 'NL', number: '5' }]],
    ['#1234|BA5', [{ sia: 'BA', number: '5' }]],
    ['#1234', []],
    ['', []],
    ['#1234|Nri1/xy9/BA1/?', [{ sia: 'BA', number: '1', area: '1' }]],
    ['#1234|N', undefined],
    ['#1234|hello', undefined],
    // What stands behind text for people is reported too.
    [
      '#1234|Nri1/BA001^Door^FA009^Smoke^',
      [
        { sia: 'BA', number: '001', area: '1' },
        { sia: 'FA', number: '009', area: '1' },
      ],
    ],
    [
      '#1234|Nri1/XT002^bat^/FA009',
      [
        { sia: 'XT', number: '002', area: '1' },
        { sia: 'FA', number: '009', area: '1' },
      ],
    ],
    [
      '#1234|Nri1/BA001|ADoor|Nri2/FA009',
      [
        { sia: 'BA', number: '001', area: '1' },
        { sia: 'FA', number: '009', area: '2' },
      ],
    ],
    [
      '#1234|Nri1/BA2^a^b^/FA3',
      [
        { sia: 'BA', number: '2', area: '1' },
        { sia: 'FA', number: '3', area: '1' },
      ],
    ],
    ['#1234|Nri1/BA2^a^b^OPEN^c', [{ sia: 'BA', number: '2', area: '1' }]],
    // No word is an opening.
    ['#1234|Nri1/BA001^Door^OPEN^', [{ sia: 'BA', number: '001', area: '1' }]],
    ['#1234|Nri1/BA001|NOPEN|OOPS|NOT OP7', [{ sia: 'BA', number: '001', area: '1' }]],
    ['#1234|Nri1/BA001^OP7', [{ sia: 'BA', number: '001', area: '1' }]],
    // More than any panel sends are refused, not cut.
    [`#1234|N${'BA001'.repeat(32)}`, Array.from({ length: 32 }, () => ({ sia: 'BA', number: '001' }))],
    [`#1234|N${'BA001'.repeat(33)}`, undefined],
  ])('of SIA: %s', (data, reports) => {
    expect(parseReports('SIA-DCS', data)).toEqual(reports);
  });

  it.each([
    ['#1234|1130 01 005', { contactId: '1130', area: '01', number: '005' }],
    ['#1234|3401 02 003', { contactId: '3401', area: '02', number: '003' }],
    ['#1234|1234 18 1130 01 005', { contactId: '1130', area: '01', number: '005' }],
    ['1234 18 6130 01 005', { contactId: '6130', area: '01', number: '005' }],
    ['#1234|1130 01 005 extra', { contactId: '1130', area: '01', number: '005' }],
  ])('of Contact ID: %s', (data, report) => {
    expect(parseReports('ADM-CID', data)).toEqual([report]);
  });

  it('of Contact ID that are none cannot be read', () => {
    expect(parseReports('ADM-CID', '#1234|2130 01 005')).toBeUndefined();
    expect(parseReports('ADM-CID', '#1234|1130')).toBeUndefined();
  });
});

describe("a panel's clock", () => {
  it('may be 40 s behind and 20 s before', () => {
    const now = Date.UTC(2026, 0, 2);
    expect([-40_001, -40_000, 0, 20_000, 20_001].map((ms) => isTimely(now + ms, now))).toEqual([
      false,
      true,
      true,
      true,
      false,
    ]);
    expect(timestamp(now)).toBe('_00:00:00,01-02-2026');
  });
});
