import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

export interface RtspServerOptions {
  readonly port?: number;
  readonly codec?: 'h264' | 'h265';
  readonly fps?: number;
  /** Pictures from one key frame to the next. */
  readonly keyFrameEvery?: number;
  /** False: the stream has none at all. */
  readonly keyFrames?: boolean;
  readonly audio?: boolean;
  /** So many kbit/s; without it as few as the picture needs. */
  readonly kbps?: number;
  /** Who may see it, by digest. */
  readonly user?: { readonly username: string; readonly password: string };
}

/** A camera's stream from GStreamer's RTSP server, a real process. */
export interface RtspServer {
  readonly port: number;
  /** Without credentials. */
  readonly url: string;
  /** The number a picture of this moment carries; one more with each picture. */
  numberNow(): number;
  /** The camera hangs: connections stay, nothing comes. */
  freeze(): void;
  thaw(): void;
  /** Ends it at once; connections break. */
  stop(): Promise<void>;
}

export async function startRtspServer(options: RtspServerOptions = {}): Promise<RtspServer> {
  const fps = options.fps ?? 10;
  const zero = process.hrtime.bigint();
  const settings = {
    ...{ port: 0, codec: 'h264', fps, keyFrameEvery: 10, keyFrames: true, audio: false, ...options },
    zero: String(zero),
  };
  const script = `${import.meta.dirname}/rtsp-server.py`;
  const child = spawn('/usr/bin/python3', [script, JSON.stringify(settings)], { stdio: ['pipe', 'pipe', 'inherit'] });
  const port = await firstLine(child);
  return {
    port: Number(port),
    url: `rtsp://127.0.0.1:${port}/cam`,
    numberNow: () => Number(((process.hrtime.bigint() - zero) * BigInt(fps)) / 1_000_000_000n) & 0xffff,
    freeze: () => void child.kill('SIGSTOP'),
    thaw: () => void child.kill('SIGCONT'),
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGKILL');
      await gone;
    },
  };
}

async function firstLine(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error('the RTSP server has no stdout');
  for await (const line of createInterface(child.stdout)) return line;
  throw new Error('the RTSP server did not start');
}

/** The numbers in the pictures of a file, or of a stream's first `frames` pictures, decoded by ffmpeg. */
export async function pictureNumbers(input: string, frames?: number): Promise<readonly number[]> {
  // Without the last two it looks at a stream for seconds before it begins.
  const live = ['-rtsp_transport', 'tcp', '-analyzeduration', '500000', '-fpsprobesize', '0'];
  const transport = input.startsWith('rtsp') ? live : [];
  const count = frames === undefined ? [] : ['-frames:v', String(frames)];
  // One pixel of the scaled picture is the mean of one block.
  const scaled = ['-vf', 'scale=4:4:flags=area', '-pix_fmt', 'gray', '-fps_mode', 'passthrough', '-f', 'rawvideo'];
  const { stdout } = await promisify(execFile)(
    'ffmpeg',
    ['-nostdin', '-loglevel', 'error', ...transport, '-i', input, ...count, ...scaled, '-'],
    { encoding: 'buffer', timeout: 30_000 },
  );
  return Array.from({ length: stdout.length / 16 }, (_, frame) =>
    stdout.subarray(frame * 16, frame * 16 + 16).reduce((sum, grey, bit) => sum + (grey > 127 ? 1 << bit : 0), 0),
  );
}
