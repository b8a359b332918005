/** Why a stream ended. `denied`: whoever listens may not any more. */
export type StreamEnd = 'gone' | 'overrun' | 'denied' | 'stopped';

export interface StreamLimits {
  /** Messages, and bytes of them, that wait for one client at most. */
  readonly messages: number;
  readonly bytes: number;
  /** How long a client has to take the end of its stream before the connection is cut. */
  readonly graceMs: number;
}

export const streamLimits: StreamLimits = { messages: 1000, bytes: 1024 * 1024, graceMs: 5000 };

/** One that listens: what waits for it is bounded, and it is read no faster than it is taken. */
export interface StreamClient {
  readonly stream: ReadableStream<Uint8Array>;
  /** Aborts when the end of the stream was not taken in time. */
  readonly cut: AbortSignal;
  /** Aborts when nothing more is sent. */
  readonly ended: AbortSignal;
  /** None is left out; one too many ends the stream. */
  add(message: Uint8Array): void;
  /** Of each key only the newest waits. */
  set(key: string, message: Uint8Array): void;
  /** As `set`; ends the stream of a client that has taken nothing since the last one while something waited. */
  ping(message: Uint8Array): void;
  /** Resolves when all that waits has been taken; rejects when the stream ends. */
  taken(): Promise<void>;
  overrun(): void;
  end(why: StreamEnd): void;
}

export interface StreamClientOptions {
  readonly limits: StreamLimits;
  /** Asked before anything is sent. */
  readonly mayStay: () => boolean;
  /** The last message of a client that is too slow. */
  readonly overrunMessage: () => Uint8Array;
  readonly onSent: (messages: number) => void;
  readonly onDropped: (messages: number) => void;
  readonly onEnd: (why: StreamEnd) => void;
}

const chunkBytes = 64 * 1024;

export function createStreamClient(options: StreamClientOptions): StreamClient {
  const { limits, mayStay } = options;
  const ended = new AbortController();
  const cut = new AbortController();
  /** In the order they are sent; a newer one of a key takes the place of the older. */
  const waiting = new Map<unknown, Uint8Array>();
  let bytes = 0;
  let out: ReadableStreamDefaultController<Uint8Array> | undefined;
  let isWanted = false;
  let isScheduled = false;
  let isLastWord = false;
  let tookSincePing = true;
  let onTaken: (() => void) | undefined;

  const stream = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        out = controller;
      },
      pull() {
        isWanted = true;
        schedule();
      },
      cancel: () => end('gone'),
    },
    { highWaterMark: 0 },
  );

  /** All that comes in one turn of the loop goes out together. */
  function schedule(): void {
    if (!isWanted || isScheduled || waiting.size === 0) return;
    isScheduled = true;
    setImmediate(send);
  }

  function send(): void {
    isScheduled = false;
    if (ended.signal.aborted || !isWanted || waiting.size === 0) return;
    if (!mayStay()) {
      end('denied');
      return;
    }
    const chunk = take();
    isWanted = false;
    tookSincePing = true;
    out?.enqueue(chunk);
    if (waiting.size > 0) return;
    if (isLastWord) end('overrun');
    else onTaken?.();
  }

  function take(): Uint8Array {
    const parts: Uint8Array[] = [];
    let size = 0;
    for (const [key, message] of waiting) {
      if (parts.length > 0 && size + message.length > chunkBytes) break;
      parts.push(message);
      size += message.length;
      waiting.delete(key);
    }
    bytes -= size;
    options.onSent(parts.length);
    return Buffer.concat(parts, size);
  }

  function put(key: unknown, message: Uint8Array): void {
    if (ended.signal.aborted || isLastWord) return;
    bytes += message.length - (waiting.get(key)?.length ?? 0);
    waiting.set(key, message);
    if (waiting.size > limits.messages || bytes > limits.bytes) overrun();
    else schedule();
  }

  function overrun(): void {
    if (ended.signal.aborted || isLastWord) return;
    isLastWord = true;
    options.onDropped(waiting.size);
    waiting.clear();
    const last = options.overrunMessage();
    waiting.set('overrun', last);
    bytes = last.length;
    cutLater();
    schedule();
  }

  function cutLater(): void {
    setTimeout(() => {
      cut.abort();
      end('overrun');
    }, limits.graceMs).unref();
  }

  function end(why: StreamEnd): void {
    if (ended.signal.aborted) return;
    ended.abort(new DOMException('the stream has ended', 'AbortError'));
    waiting.clear();
    bytes = 0;
    if (why !== 'gone') {
      out?.close();
      if (!isLastWord) cutLater();
    }
    options.onEnd(isLastWord ? 'overrun' : why);
  }

  return {
    stream,
    cut: cut.signal,
    ended: ended.signal,
    add: (message) => put(Symbol('event'), message),
    set: put,
    ping(message) {
      if (!tookSincePing && waiting.size > 0) overrun();
      tookSincePing = false;
      if (mayStay()) put('ping', message);
      else end('denied');
    },
    taken: () =>
      new Promise((resolve, reject) => {
        const stop = () => reject(ended.signal.reason);
        if (ended.signal.aborted) return stop();
        if (waiting.size === 0) return resolve();
        ended.signal.addEventListener('abort', stop, { once: true });
        onTaken = () => {
          onTaken = undefined;
          ended.signal.removeEventListener('abort', stop);
          resolve();
        };
      }),
    overrun,
    end,
  };
}
