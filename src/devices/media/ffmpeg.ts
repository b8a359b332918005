import { spawn } from 'node:child_process';
import { Readable } from 'node:stream';
import { SitewardError } from '#errors.ts';
import { killGroup, standBack } from '#lib/child.ts';
import { withDeadline } from '#lib/wait.ts';

/** The only place that starts ffmpeg. What is not of our making, such as a camera's password, never stands in its arguments. */
export interface Ffmpeg {
  /**
   * Runs it to its end; resolves with what it wrote to its output. Rejects with `media_tool_missing`, `stream_failed`,
   * `deadline`, `queue_full`, or the signal's reason; it is gone soon after.
   */
  run(work: FfmpegWork, signal: AbortSignal): Promise<Buffer>;
  /**
   * One that has no end of its own and waits for nobody: settles as `run`, once it is gone. `onOutput` must not throw.
   */
  follow(args: readonly string[], onOutput: (chunk: Buffer) => void, signal: AbortSignal): Promise<void>;
}

export interface FfmpegWork {
  /** A picture of a camera's stream, of one in memory, or a clip. None waits for those of another kind. */
  readonly kind: 'still' | 'frame' | 'clip';
  readonly args: readonly string[];
  readonly input?: readonly Buffer[];
  /** From its turn on. */
  readonly deadlineMs: number;
  /** More output than this ends it. */
  readonly maxBytes?: number;
}

/** `-nostdin`: it would take the terminal's keys. */
const always = ['-nostdin', '-hide_banner', '-loglevel', 'error'];
const keptWords = 2048;
const waitingCap = 64;

export function createFfmpeg(options: {
  /** So many of a kind run at once, and twice as many that wait for a camera more than they work. */
  processes: number;
  program?: string;
}): Ffmpeg {
  const { processes, program = 'ffmpeg' } = options;
  const lines = { still: createLine(2 * processes), frame: createLine(processes), clip: createLine(processes) };

  async function collect({ args, input, maxBytes = 0 }: FfmpegWork, signal: AbortSignal): Promise<Buffer> {
    const chunks: Buffer[] = [];
    const tooMuch = new AbortController();
    let bytes = 0;
    const collectChunk = (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= maxBytes) chunks.push(chunk);
      else tooMuch.abort(new SitewardError('stream_failed', `ffmpeg wrote more than ${maxBytes} bytes`));
    };
    await launch(program, args, collectChunk, AbortSignal.any([signal, tooMuch.signal]), input);
    return Buffer.concat(chunks);
  }

  return {
    run: (work, signal) =>
      lines[work.kind](signal, () =>
        withDeadline(work.deadlineMs, signal, (timely) => collect(work, timely), `the ${work.kind}`),
      ),
    follow: (args, onOutput, signal) => launch(program, args, onOutput, signal),
  };
}

/** Settles when the process is gone. */
function launch(
  program: string,
  args: readonly string[],
  onOutput: (chunk: Buffer) => void,
  signal: AbortSignal,
  input: readonly Buffer[] = [],
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const { PATH } = process.env;
    const child = spawn(program, [...always, ...args], {
      // A group of its own, to be killed as one.
      detached: true,
      stdio: 'pipe',
      env: { PATH },
    });
    child.once('error', (cause: NodeJS.ErrnoException) => reject(notStarted(cause)));
    // Where it was not started; with no file left it has no pipes either.
    const { pid } = child;
    if (pid === undefined) return;
    const kill = () => killGroup(pid);
    let words = '';
    signal.addEventListener('abort', kill, { once: true });
    // Where it ends before it has read all, its exit code says why.
    Readable.from(input).pipe(child.stdin.on('error', () => undefined));
    child.stdout.on('data', onOutput);
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      words = (words + text).slice(-keptWords);
    });
    void standBack(pid);
    child.once('exit', () => signal.removeEventListener('abort', kill));
    child.once('close', (code, killedBy) => {
      if (signal.aborted) reject(signal.reason);
      else if (code === 0) resolve();
      else reject(failed(words, killedBy === null ? `exit code ${code}` : `killed by ${killedBy}`));
    });
  });
}

function notStarted(cause: NodeJS.ErrnoException): SitewardError {
  return cause.code === 'ENOENT'
    ? new SitewardError('media_tool_missing', 'ffmpeg is not installed: apt-get install ffmpeg', { cause })
    : new SitewardError('stream_failed', `ffmpeg could not be started: ${cause.message}`, { cause });
}

/** Its last words, without addresses and the memory addresses of its parts. */
function failed(words: string, how: string): SitewardError {
  const said = words
    .replaceAll(/\b[a-z]+:\/\/\S+/gi, 'the stream')
    .replaceAll(/\[[^\]]* @ 0x[0-9a-f]+\] /g, '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .slice(-3)
    .join('; ');
  return new SitewardError('stream_failed', `ffmpeg failed: ${said === '' ? how : said}`, { facts: { how } });
}

type Line = <T>(signal: AbortSignal, work: () => Promise<T>) => Promise<T>;

/** Lets `size` work at once; the others wait in the order they came, so many as may. */
function createLine(size: number): Line {
  let free = size;
  const waiting = new Set<() => void>();

  function turn(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.reject(signal.reason);
    if (free > 0) {
      free -= 1;
      return Promise.resolve();
    }
    if (waiting.size >= waitingCap)
      return Promise.reject(
        new SitewardError('queue_full', 'too many pictures and clips of streams were asked for at once'),
      );
    return new Promise((resolve, reject) => {
      const leave = () => {
        waiting.delete(take);
        reject(signal.reason);
      };
      const take = () => {
        waiting.delete(take);
        signal.removeEventListener('abort', leave);
        resolve();
      };
      waiting.add(take);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  return async (signal, work) => {
    await turn(signal);
    try {
      return await work();
    } finally {
      const [next] = waiting;
      if (next === undefined) free += 1;
      else next();
    }
  };
}
