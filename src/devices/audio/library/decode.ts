import { spawn } from 'node:child_process';
import { SitewardError } from '#errors.ts';
import { killGroup, standBack } from '#lib/child.ts';
import { withDeadline } from '#lib/wait.ts';
import { checkSeconds, invalidFile, limits, storedRate } from './limits.ts';
import { createMixer } from './mix.ts';
import type { SoundKind } from './sniff.ts';

export interface Decoded {
  readonly rate: number;
  /** One channel. */
  readonly samples: Int16Array;
  readonly clipped: number;
}

/** Reads files that are no plain wav, in children that may do little else. */
export interface Decoder {
  /** Rejects with `audio_invalid`, `audio_tool_missing`, or the signal's reason; no child is left. */
  decode(path: string, kind: SoundKind, signal: AbortSignal): Promise<Decoded>;
}

/** Our resampler makes few filters for these; of others ffmpeg makes 48000. */
export const plainRates: readonly number[] = [8_000, 11_025, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000];

const demuxers: Readonly<Record<SoundKind, string>> = { wav: 'wav', mp3: 'mp3', ogg: 'ogg', flac: 'flac', m4a: 'mov' };
const codecs =
  'pcm_u8,pcm_s16le,pcm_s24le,pcm_s32le,pcm_f32le,pcm_f64le,pcm_alaw,pcm_mulaw,mp3,mp3float,vorbis,libvorbis,opus,libopus,flac,aac,alac';

const deadlineMs = 20_000;
/** No files are written, and no child needs more than this; without the last ffmpeg is as greedy as a file asks it to be. */
const bounds = ['--cpu=20', '--fsize=0', '--core=0', '--nofile=64', '--as=800000000'];
/** Nothing but this file is opened, as nothing but what it begins as: a playlist in disguise would fetch others. */
const opening = (path: string, kind: SoundKind): string[] => [
  ...['-protocol_whitelist', 'file,pipe', '-format_whitelist', 'wav,mp3,ogg,flac,mov', '-codec_whitelist', codecs],
  ...['-f', demuxers[kind], '-i', `file:${path}`],
];

/** Whichever is more: some formats count silence at both ends. */
const mayDiffer = { share: 0.05, seconds: 0.1 };

export function createDecoder({ ffmpeg = 'ffmpeg', ffprobe = 'ffprobe' } = {}): Decoder {
  async function decode(path: string, kind: SoundKind, signal: AbortSignal): Promise<Decoded> {
    const asked = ['-v', 'error', '-select_streams', 'a:0', '-show_entries', 'format=duration'];
    asked.push('-show_entries', 'stream=channels,sample_rate,duration', '-of', 'json');
    const { claimed, channels, rate } = reading(
      await collect(ffprobe, [...asked, ...opening(path, kind)], 65_536, signal),
    );
    if (claimed !== undefined) checkSeconds(claimed);
    const made = plainRates.includes(rate) ? rate : storedRate;
    const mixer = createMixer(channels);
    const toSamples = ['-map', '0:a:0', '-vn', '-sn', '-dn', '-t', String(limits.maxSeconds + 1)];
    toSamples.push('-ar', String(made), '-ac', String(channels), '-c:a', 'pcm_s16le', '-f', 's16le', 'pipe:1');
    const maxBytes = (limits.maxSeconds + 2) * made * channels * 2;
    const always = ['-nostdin', '-hide_banner', '-v', 'error', '-xerror', '-threads', '1'];
    await run(
      ffmpeg,
      [...always, ...opening(path, kind), ...toSamples],
      maxBytes,
      (bytes) => mixer.push(bytes),
      signal,
    );
    const samples = mixer.samples();
    const seconds = samples.length / made;
    checkSeconds(seconds);
    if (claimed !== undefined && differ(claimed, seconds))
      throw invalidFile(
        'truncated',
        `it says it lasts ${claimed.toFixed(1)} s, but holds ${seconds.toFixed(1)} s. Get it again`,
      );
    return { rate: made, samples, clipped: mixer.clipped };
  }

  return {
    decode: (path, kind, signal) =>
      withDeadline(deadlineMs, signal, (timely) => decode(path, kind, timely), 'reading the sound file').catch(
        (error) => {
          const late = error instanceof SitewardError && error.code === 'deadline' && !signal.aborted;
          throw late ? invalidFile('undecodable', 'it takes too long to read. Save it again as wav', error) : error;
        },
      ),
  };
}

const differ = (claimed: number, found: number): boolean =>
  Math.abs(claimed - found) > Math.max(claimed * mayDiffer.share, mayDiffer.seconds);

/** What ffprobe says of the first sound in a file. */
function reading(json: Buffer): { claimed: number | undefined; channels: number; rate: number } {
  const { streams = [], format = {} } = parse(json);
  const [stream] = streams;
  if (stream === undefined) throw invalidFile('undecodable', 'there is no sound in it');
  const channels = Number(stream.channels);
  const rate = Number(stream.sample_rate);
  if (channels !== 1 && channels !== 2)
    throw invalidFile('channels', `it has ${stream.channels} channels. Save it as mono or stereo`);
  if (!(rate >= 4_000 && rate <= 192_000)) throw invalidFile('undecodable', `${rate} samples per second are not taken`);
  const lasts = [format.duration, stream.duration].map(Number).filter((seconds) => seconds > 0);
  return { claimed: lasts.length === 0 ? undefined : Math.max(...lasts), channels, rate };
}

interface Probed {
  streams?: { channels?: unknown; sample_rate?: unknown; duration?: unknown }[];
  format?: { duration?: unknown };
}

function parse(json: Buffer): Probed {
  try {
    return JSON.parse(json.toString('utf8')) as Probed;
  } catch (cause) {
    throw invalidFile('undecodable', 'it cannot be read. Save it again as wav', cause);
  }
}

async function collect(program: string, args: string[], maxBytes: number, signal: AbortSignal): Promise<Buffer> {
  const chunks: Buffer[] = [];
  await run(program, args, maxBytes, (chunk) => chunks.push(chunk), signal);
  return Buffer.concat(chunks);
}

/** Settles when the child is gone. */
function run(
  program: string,
  args: readonly string[],
  maxBytes: number,
  onOutput: (chunk: Buffer) => void,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const child = spawn('prlimit', [...bounds, program, ...args], {
      // A group of its own, to be killed as one.
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: process.env.PATH, LC_ALL: 'C' },
    });
    child.once('error', (cause) => reject(missing('prlimit', 'util-linux', cause)));
    const { pid } = child;
    if (pid === undefined) return;
    const kill = () => killGroup(pid);
    let words = '';
    let bytes = 0;
    signal.addEventListener('abort', kill, { once: true });
    child.stdout.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= maxBytes) onOutput(chunk);
      else kill();
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      words = (words + text).slice(-2_048);
    });
    void standBack(pid);
    child.once('exit', () => signal.removeEventListener('abort', kill));
    child.once('close', (code, killedBy) => {
      if (signal.aborted) reject(signal.reason);
      else if (bytes > maxBytes) reject(invalidFile('too_long', `it lasts longer than ${limits.maxSeconds} s. Cut it`));
      else if (code === 0) resolve();
      else if (/^prlimit: failed to execute/m.test(words)) reject(missing(program, 'ffmpeg'));
      else reject(undecodable(words, killedBy === null ? `exit code ${code}` : `killed by ${killedBy}`));
    });
  });
}

const missing = (program: string, debian: string, cause?: unknown): SitewardError =>
  new SitewardError('audio_tool_missing', `${program} is not installed: apt-get install ${debian}`, { cause });

/** Its first words say what is wrong; they hold our own path of the file, which helps nobody. */
function undecodable(words: string, how: string): SitewardError {
  const said = words
    .replaceAll(/\[[^\]]* @ 0x[0-9a-f]+\] /g, '')
    .replaceAll(/(file:)?\/\S+/g, 'the file')
    .split('\n')
    .find((line) => line.trim() !== '');
  return invalidFile('undecodable', `it is damaged or something else (${said ?? how}). Save it again as wav`);
}
