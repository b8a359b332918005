import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { decibels, peakOf } from '#devices/audio/gain.ts';
import { convert } from '#devices/audio/library/convert.ts';
import { createDecoder, type Decoder } from '#devices/audio/library/decode.ts';
import { soundKinds } from '#devices/audio/library/sniff.ts';
import { writeWav } from '#devices/audio/wav.ts';
import { never } from '#lib/wait.ts';
import { rmsOf } from '../rms-of.ts';
import { encoded, flacClaiming, sine, wavOf } from './fixtures.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'siteward-import-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const read = (bytes: Buffer, fileName?: string, decoder: Decoder = createDecoder(), signal = never()) => {
  const name = fileName === undefined ? {} : { fileName };
  return convert({ bytes, part: join(folder, 'import.part'), decoder, ...name }, signal);
};

/** Processes this one has started and that run, by their program. */
function children(): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const [, program = '', rest = ''] = /^\d+ \((.*)\) (.*)$/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
        const [state, parent] = rest.split(' ');
        return Number(parent) === process.pid && state !== 'Z' ? [program] : [];
      } catch {
        return [];
      }
    })
    .filter((program) => ['prlimit', 'ffmpeg', 'ffprobe', 'sh'].includes(program));
}

describe('a file', () => {
  const whole = wavOf({ seconds: 3, channels: 2 });

  it.each(['wav', 'mp3', 'ogg', 'opus', 'flac', 'm4a'])(
    'of kind %s becomes one channel at 48 kHz, peak -1 dB',
    async (ending) => {
      const samples = await read(ending === 'wav' ? whole : encoded(ending, whole), `message.${ending}`);
      expect(samples.length / 48_000).toBeCloseTo(3, 1);
      expect(decibels(peakOf(samples))).toBeCloseTo(-1, 0);
      const middle = samples.subarray(48_000, 96_000);
      expect(decibels(rmsOf(middle))).toBeCloseTo(-1 - 3.01, 0);
      // One tone of 500 Hz crosses zero upwards 500 times a second.
      const crossings = middle.filter((sample, at) => at > 0 && sample >= 0 && (middle[at - 1] ?? 0) < 0);
      expect(Math.abs(crossings.length - 500)).toBeLessThanOrEqual(1);
      expect(readdirSync(folder)).toEqual([]);
    },
  );

  it.each([
    ['8 bits', ['-c:a', 'pcm_u8']],
    ['24 bits', ['-c:a', 'pcm_s24le']],
    ['floating point', ['-c:a', 'pcm_f32le']],
    ['µ-law', ['-ar', '8000', '-c:a', 'pcm_mulaw']],
    ['an odd rate', ['-ar', '44099']],
  ] as const)('of wav with %s is taken', async (_, how) => {
    const samples = await read(encoded('wav', whole, ...how));
    expect(samples.length / 48_000).toBeCloseTo(3, 2);
  });

  it('of plain wav needs no other program', async () => {
    const decoder = createDecoder({ ffmpeg: '/nowhere/ffmpeg', ffprobe: '/nowhere/ffprobe' });
    expect((await read(whole, 'a.wav', decoder)).length).toBe(144_000);
    await expect(read(encoded('mp3'), 'a.mp3', decoder)).rejects.toMatchObject({
      code: 'audio_tool_missing',
      message: expect.stringContaining('apt-get install ffmpeg'),
    });
  });

  it('may stand at a level that never changes, which is taken away', async () => {
    const samples = sine({ peak: 3_000 }).map((sample) => sample + 9_000);
    const made = await read(writeWav({ rate: 44_100, channels: 1, samples }));
    expect(Math.abs(made.reduce((sum, sample) => sum + sample, 0) / made.length)).toBeLessThan(5);
    expect(decibels(peakOf(made))).toBeCloseTo(-1, 0);
  });

  it('of a minute lets packets for speakers have their turn', async () => {
    let turns = 0;
    let over = false;
    const count = () => {
      turns += 1;
      if (!over) setImmediate(count);
    };
    setImmediate(count);
    await read(wavOf({ seconds: 60, rate: 48_000 }));
    over = true;
    expect(turns).toBeGreaterThan(80);
  });

  it('as loud as can be is taken, as long as it is whole', async () => {
    expect((await read(wavOf({ peak: 32_767, hertz: 100 }))).length).toBe(48_000);
  });
});

describe('a file is refused, and nothing is left of it, when it', () => {
  const mp3 = () => encoded('mp3');
  const flac = () => encoded('flac');
  const cut = (bytes: Buffer) => bytes.subarray(0, Math.floor(bytes.length * 0.6));
  const noise = (bytes: number) =>
    Buffer.from(Array.from({ length: bytes }, (_, at) => (at * 7919 + (at >> 3)) & 0xff));
  const square = Int16Array.from({ length: 48_000 }, (_, at) => (at % 100 < 50 ? 32_767 : -32_768));
  const header = (change: (bytes: Buffer) => void) => {
    const bytes = wavOf();
    change(bytes);
    return bytes;
  };

  it.each<[string, () => Buffer, string, RegExp]>([
    ['is empty', () => Buffer.alloc(0), 'a.wav', /empty/],
    ['is a cut wav', () => cut(wavOf()), 'a.wav', /rest is missing/],
    ['is a wav of 4 GiB, it says', () => header((b) => b.writeUInt32LE(0xffffffff, 4)), 'a.wav', /rest is missing/],
    ['is a wav that holds 4 GiB, it says', () => header((b) => b.writeUInt32LE(0xfffffff0, 40)), 'a.wav', /longer/],
    ['is a cut mp3', () => cut(mp3()), 'a.mp3', /says it lasts/],
    ['is a cut flac', () => cut(flac()), 'a.flac', /damaged|says it lasts/],
    ['is a cut ogg', () => cut(encoded('ogg')), 'a.ogg', /end is missing/],
    ['is a cut opus', () => cut(encoded('opus')), 'a.opus', /end is missing/],
    ['is a cut m4a', () => cut(encoded('m4a')), 'a.m4a', /damaged/],
    ['is noise', () => noise(30_000), 'a.wav', /is no wav/],
    ['is a text', () => Buffer.from('#!/bin/sh\necho hello\n'), 'a.mp3', /is no wav/],
    ['is an mp3 that is called wav', mp3, 'message.WAV', /called wav but is mp3/],
    ['is a wav that is called mp3', () => wavOf(), 'message.mp3', /called mp3 but is wav/],
    ['is of 10 hours, it says', () => flacClaiming(flac(), 36_000 * 44_100), 'a.flac', /lasts 36000 s/],
    ['is of 10 hours of mp3, as far as it is', () => long('mp3', 600, '-write_xing', '0'), 'a.mp3', /lasts 600/],
    ['is longer than it says', () => flacClaiming(long('flac', 200), 8_000 * 3), 'a.flac', /lasts 121 s/],
    ['is long and does not say it', () => flacClaiming(long('flac', 200), 0), 'a.flac', /lasts 121 s/],
    ['is a long wav', () => wavOf({ seconds: 121, rate: 8_000 }), 'a.wav', /lasts 121 s/],
    ['is too short', () => wavOf({ seconds: 0.1 }), 'a.wav', /lasts 0.1 s/],
    ['is silent', () => wavOf({ peak: 30 }), 'a.wav', /next to nothing to hear/],
    ['is silent mp3', () => encoded('mp3', wavOf({ peak: 0 })), 'a.mp3', /: there is nothing to hear$/],
    [
      'never changes',
      () => writeWav({ rate: 8_000, channels: 1, samples: new Int16Array(8_000).fill(20_000) }),
      'a.wav',
      /nothing to hear/,
    ],
    ['is cut off at full scale', () => writeWav({ rate: 48_000, channels: 1, samples: square }), 'a.wav', /distorted/],
    [
      'is cut off at full scale, as flac',
      () => encoded('flac', writeWav({ rate: 48_000, channels: 1, samples: square })),
      'a.flac',
      /distorted/,
    ],
    ['has six channels', () => encoded('flac', whole6()), 'a.flac', /6 channels/],
    ['has no sound', () => pictureOnly(), 'a.m4a', /no sound|damaged/],
  ])('%s', async (_, make, name, message) => {
    const error = await read(make(), name).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: 'audio_invalid', facts: { field: 'file' } });
    expect((error as Error).message).toMatch(message);
    expect((error as Error).message).not.toContain(folder);
    expect(readdirSync(folder)).toEqual([]);
    expect(children()).toEqual([]);
  });

  const long = (ending: string, seconds: number, ...more: string[]) =>
    encoded(
      ending,
      wavOf({ seconds: 1, rate: 8_000 }),
      '-filter_complex',
      `aloop=loop=-1:size=8000,atrim=0:${seconds}`,
      ...more,
    );
  const whole6 = () => writeWav({ rate: 8_000, channels: 6, samples: sine({ rate: 8_000, channels: 6 }) });
  const pictureOnly = () =>
    encoded('m4a', wavOf(), ...'-f lavfi -i color=c=black:s=64x64:d=1 -map 1:v -f mp4 -c:v mpeg4'.split(' '));
});

describe('a playlist in disguise', () => {
  let server: Server;
  let address: string;
  const asked: string[] = [];
  beforeAll(async () => {
    server = createServer((request, response) => {
      asked.push(request.url ?? '');
      response.end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => new Promise((resolve) => server.close(resolve)));

  const hls = (segment: string) =>
    `#EXTM3U\n#EXT-X-TARGETDURATION:5\n#EXTINF:5,\n${segment}\n#EXT-X-ENDLIST\n`.padEnd(4_000, '\n');
  const tag = Buffer.from([0x49, 0x44, 0x33, 4, 0, 0, 0, 0, 0, 0]);

  it.each<[string, () => Buffer]>([
    ['HLS', () => Buffer.from(hls(`${address}/segment.ts`))],
    ['HLS behind the tag of an mp3', () => Buffer.concat([tag, Buffer.from(hls(`${address}/segment.ts`))])],
    ['a list of files', () => Buffer.from(`ffconcat version 1.0\nfile ${join(folder, 'secret.wav')}\n`)],
    [
      'a list of files behind the tag of an mp3',
      () =>
        Buffer.concat([
          tag,
          Buffer.from(`ffconcat version 1.0\nfile ${join(folder, 'secret.wav')}\n`.padEnd(4_000, '\n')),
        ]),
    ],
  ])('(%s) is refused and fetches nothing', async (_, make) => {
    writeFileSync(join(folder, 'secret.wav'), wavOf());
    await expect(read(make(), 'message.mp3')).rejects.toMatchObject({
      code: 'audio_invalid',
      facts: { field: 'file' },
    });
    expect(asked).toEqual([]);
    expect(readdirSync(folder)).toEqual(['secret.wav']);
  });

  it('is no way to another file where it got as far as ffmpeg', async () => {
    writeFileSync(join(folder, 'secret.wav'), wavOf({ seconds: 3 }));
    const path = join(folder, 'list');
    for (const list of ['ffconcat version 1.0\nfile secret.wav\n', hls('secret.wav'), hls(`${address}/segment.ts`)]) {
      writeFileSync(path, list);
      for (const kind of soundKinds)
        await expect(createDecoder().decode(path, kind, never())).rejects.toMatchObject({ code: 'audio_invalid' });
    }
    expect(asked).toEqual([]);
  });
});

describe('the child that reads a file', () => {
  /** In place of ffmpeg, after an ffprobe that says what `probe` says. */
  function fake(script: string, probe = '{"streams":[{"channels":1,"sample_rate":"8000"}],"format":{"duration":"3"}}') {
    const make = (name: string, text: string) => {
      const path = join(folder, name);
      writeFileSync(path, `#!/bin/sh\n${text}\n`);
      chmodSync(path, 0o755);
      return path;
    };
    return createDecoder({ ffmpeg: make('ffmpeg.sh', script), ffprobe: make('ffprobe.sh', `echo '${probe}'`) });
  }
  const mp3 = encoded('mp3');

  it('has limits, and stands back', async () => {
    const script =
      'until [ "$(nice)" = 10 ]; do sleep 0.05; done; echo "$(ulimit -v) $(ulimit -t) $(ulimit -f) $(ulimit -c) $(env | cut -d= -f1 | grep -v -e PWD -e SHLVL -e ^_ | sort | tr "\\n" ,)" >&2; exit 1';
    await expect(read(mp3, 'a.mp3', fake(script))).rejects.toThrow(/781250 20 0 0 LC_ALL,PATH,/);
  });

  it('that writes without end is stopped', async () => {
    await expect(read(mp3, 'a.mp3', fake('exec cat /dev/zero'))).rejects.toMatchObject({
      code: 'audio_invalid',
      facts: { reason: 'too_long' },
    });
    expect(children()).toEqual([]);
  });

  it('that says nothing of use is not believed', async () => {
    for (const probe of [
      '',
      'junk',
      '{}',
      '{"streams":[{"channels":-1,"sample_rate":"x"}]}',
      '[]',
      '{"streams":[{"channels":1,"sample_rate":"1e99"}]}',
    ])
      await expect(read(mp3, 'a.mp3', fake('exit 0', probe))).rejects.toMatchObject({ code: 'audio_invalid' });
  });

  it('ends with whoever waits for it', async () => {
    const stop = new AbortController();
    const running = join(folder, 'running');
    // `--fsize=0` lets it make a file, but write nothing into it.
    const work = read(mp3, 'a.mp3', fake(`: > ${running}; sleep 60 & wait`), stop.signal);
    work.catch(() => undefined);
    await expect.poll(() => existsSync(running), { timeout: 20_000 }).toBe(true);
    stop.abort(new Error('enough'));
    await expect(work).rejects.toThrow('enough');
    await expect.poll(children, { timeout: 20_000 }).toEqual([]);
    await expect.poll(() => existsSync(join(folder, 'import.part')), { timeout: 20_000 }).toBe(false);
  });
});
