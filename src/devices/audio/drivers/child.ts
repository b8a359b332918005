import { spawn } from 'node:child_process';
import { killGroup } from '#lib/child.ts';
import { SpeakerError } from '../driver.ts';

/** The only place that starts players. Each is a group of processes of its own, ended as one. */
export interface Players {
  /** Rejects nothing and throws nothing but `busy`, where too many run; what could not be started is `gone` with `unstarted`. */
  start(program: string, args: readonly string[], watch?: PlayerWatch): Player;
  /** So many run now. */
  readonly running: number;
}

export interface PlayerWatch {
  /** Each line of its error output, without colours and control characters. Must not throw. */
  readonly onLine?: (line: string) => void;
  /** Lines that are no reason for an end. */
  readonly noise?: RegExp;
  /** Its output is kept up to so many bytes; without this there is none. */
  readonly outputBytes?: number;
}

export interface Player {
  /** Resolves when the player's input has taken the bytes; rejects when it is closed. */
  write(bytes: Buffer): Promise<void>;
  /** No more is to come. */
  end(): void;
  /** SIGKILL to it and all it started; nothing of it is heard any more. */
  kill(): void;
  /** Resolves when the program runs; never, where it could not be started. */
  readonly started: Promise<void>;
  /** Never rejects. */
  readonly gone: Promise<Exit>;
}

export interface Exit {
  readonly code: number | null;
  readonly killedBy: NodeJS.Signals | null;
  /** Why it could not be started. */
  readonly unstarted?: NodeJS.ErrnoException;
  /** Its last lines, without addresses, as one of them may hold a password. */
  readonly words: string;
  readonly output: Buffer;
}

const keptLines = 8;
const lineLength = 300;
/** What escaped the group and holds the pipes open is not waited for longer. */
const pipesCloseMs = 100;
/** What players need to find their devices; everything else of the daemon's stays with it. */
const passedOn = /^(PATH|HOME|XDG_RUNTIME_DIR|(ALSA|PULSE|PIPEWIRE)_\w+)$/;

export function createPlayers(options: { most?: number; env?: NodeJS.ProcessEnv } = {}): Players {
  const { most = 64, env = process.env } = options;
  let running = 0;
  return {
    get running() {
      return running;
    },
    start(program, args, watch = {}) {
      if (running >= most) throw new SpeakerError('busy', `${most} players run already`);
      running += 1;
      return launch(program, args, watch, environment(env), () => {
        running -= 1;
      });
    },
  };
}

function launch(
  program: string,
  args: readonly string[],
  { onLine, noise, outputBytes }: PlayerWatch,
  env: NodeJS.ProcessEnv,
  onGone: () => void,
): Player {
  const stdio = ['pipe', outputBytes === undefined ? 'ignore' : 'pipe', 'pipe'] as const;
  const child = spawn(program, args, { detached: true, stdio: [...stdio], env });
  const words: string[] = [];
  const output: Buffer[] = [];
  let bytes = 0;
  let over = false;
  const { pid, stdin, stdout, stderr } = child;
  const kill = () => {
    if (!over && pid !== undefined) killGroup(pid);
  };
  // Where it ends before it has read all, its exit says why; whoever writes is told by `write`.
  stdin?.on('error', () => undefined);
  stdout?.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= (outputBytes ?? 0)) output.push(chunk);
    else kill();
  });
  const lines = splitLines((line) => {
    if (line === '') return;
    onLine?.(line);
    if (noise?.test(line)) return;
    words.push(line.replaceAll(/\b[a-z][a-z0-9+.-]*:\/\/\S+/gi, 'an address'));
    if (words.length > keptLines) words.shift();
  });
  stderr?.setEncoding('utf8').on('data', lines.take);

  const started = new Promise<void>((resolve) => void child.once('spawn', () => resolve()));
  const gone = new Promise<Exit>((resolve) => {
    const settle = (code: number | null, killedBy: NodeJS.Signals | null, unstarted?: NodeJS.ErrnoException) => {
      lines.end();
      const last = { words: words.join('; '), output: Buffer.concat(output) };
      resolve({ code, killedBy, ...last, ...(unstarted === undefined ? {} : { unstarted }) });
    };
    child.once('error', (cause: NodeJS.ErrnoException) => {
      // Also said of a signal that could not be sent, which is not an end.
      if (pid !== undefined) return;
      over = true;
      onGone();
      settle(null, null, cause);
    });
    child.once('exit', () => {
      // What it left behind in its group.
      kill();
      over = true;
      onGone();
      setTimeout(() => {
        stdout?.destroy();
        stderr?.destroy();
      }, pipesCloseMs).unref();
    });
    child.once('close', (code, killedBy) => {
      if (pid !== undefined) settle(code, killedBy);
    });
  });

  return {
    started,
    gone,
    kill,
    end: () => void stdin?.end(),
    write: (bytes) =>
      new Promise((resolve, reject) => {
        if (!stdin?.writable) return reject(new Error('the player does not listen'));
        stdin.write(bytes, (error) => (error ? reject(error) : resolve()));
      }),
  };
}

function environment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  // Messages are read by us, so they are to be in one language.
  return { ...Object.fromEntries(Object.entries(env).filter(([name]) => passedOn.test(name))), LC_ALL: 'C' };
}

/** Bounded; what shows progress ends its lines with a carriage return. */
function splitLines(onLine: (line: string) => void): { take: (text: string) => void; end: () => void } {
  let rest = '';
  const give = (line: string) => onLine(tidy(line.slice(0, lineLength)));
  return {
    take(text) {
      const parts = (rest + text).split(/[\r\n]/);
      rest = (parts.pop() ?? '').slice(0, lineLength);
      parts.forEach(give);
    },
    end: () => give(rest),
  };
}

function tidy(line: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken away
  return line.replaceAll(/\u001b\[[0-9;]*[A-Za-z]|[\u0000-\u001f\u007f]/g, '').trim();
}
