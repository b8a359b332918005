import { execFile } from 'node:child_process';
import { write } from 'node:fs';
import { promisify } from 'node:util';

/** Tells systemd how the service stands. Calls return at once; messages leave one after the other, in order. */
export interface Notifier {
  ready(): void;
  reloading(): void;
  stopping(): void;
  /** One line for `systemctl status`. */
  status(text: string): void;
  /** A sign of life; only for a daemon whose parts really are alive. */
  watchdog(): void;
  /** Resolves when every message so far has left or failed. */
  flush(): Promise<void>;
}

type Variables = Readonly<Record<string, string | undefined>>;
type Send = (fields: readonly string[]) => Promise<void>;

export interface NotifierOptions {
  readonly variables: Variables;
  /** Told when a message could not be sent; the next one is tried all the same. */
  readonly failed?: (error: unknown) => void;
}

/**
 * Node opens no unix datagram sockets, so a message leaves through the socket systemd passed (`OpenFile=`, systemd
 * 253 and later) or through the `systemd-notify` tool. Without NOTIFY_SOCKET nothing is sent. At most one message
 * of each kind waits: a newer one takes its place, so a slow tool cannot pile up work.
 */
export function createNotifier(options: NotifierOptions): Notifier {
  const send = senderFor(options.variables);
  const waiting = new Map<string, readonly string[]>();
  let running: Promise<void> | undefined;

  function push(kind: string, ...fields: string[]): void {
    if (send === undefined) return;
    // Taken out first, so that it goes to the end: messages leave in the order of the last call of each kind.
    waiting.delete(kind);
    waiting.set(kind, fields);
    running ??= drain(send).finally(() => {
      running = undefined;
    });
  }

  async function drain(deliver: Send): Promise<void> {
    for (let next = shift(waiting); next !== undefined; next = shift(waiting)) {
      try {
        await deliver(next);
      } catch (error) {
        options.failed?.(error);
      }
    }
  }

  return {
    ready: () => push('ready', 'READY=1'),
    reloading: () => push('reloading', 'RELOADING=1', `MONOTONIC_USEC=${process.hrtime.bigint() / 1000n}`),
    stopping: () => push('stopping', 'STOPPING=1'),
    status: (text) => push('status', `STATUS=${text.replaceAll(/\s+/g, ' ').slice(0, 256)}`),
    watchdog: () => push('watchdog', 'WATCHDOG=1'),
    flush: async () => {
      while (running !== undefined) await running;
    },
  };
}

function shift<K, V>(map: Map<K, V>): V | undefined {
  for (const [key, value] of map) {
    map.delete(key);
    return value;
  }
  return undefined;
}

/** How often to send WATCHDOG=1, milliseconds: a third of what systemd allows. Undefined when it does not watch us. */
export function watchdogIntervalMs(variables: Variables, pid = process.pid): number | undefined {
  const allowedUs = Number(variables.WATCHDOG_USEC);
  if (!Number.isFinite(allowedUs) || allowedUs <= 0) return undefined;
  if (variables.WATCHDOG_PID !== undefined && Number(variables.WATCHDOG_PID) !== pid) return undefined;
  return Math.max(1, Math.floor(allowedUs / 3000));
}

function senderFor(variables: Variables): Send | undefined {
  const socket = variables.NOTIFY_SOCKET;
  if (socket === undefined || socket === '') return undefined;
  const fd = passedSocket(variables);
  return fd === undefined ? throughTool(socket, variables.PATH) : throughSocket(fd);
}

/** Where systemd connects `OpenFile=`; any other NOTIFY_SOCKET is not the socket that was passed. */
const managerSocket = '/run/systemd/notify';

function passedSocket(variables: Variables): number | undefined {
  if (variables.NOTIFY_SOCKET !== managerSocket || Number(variables.LISTEN_PID) !== process.pid) return undefined;
  const index = (variables.LISTEN_FDNAMES ?? '').split(':').indexOf('notify');
  return index === -1 || index >= Number(variables.LISTEN_FDS) ? undefined : 3 + index;
}

const writeTo = promisify(write);

const throughSocket =
  (fd: number): Send =>
  async (fields) => {
    await writeTo(fd, Buffer.from(fields.join('\n')));
  };

const run = promisify(execFile);
/** Longer than the five seconds the tool itself waits for systemd to have read the message. */
const toolTimeoutMs = 8000;

/** The tool waits until systemd has read the message, so the order of messages holds. Needs NotifyAccess=all. */
const throughTool =
  (socket: string, path: string | undefined): Send =>
  async (fields) => {
    await run('systemd-notify', [`--pid=${process.pid}`, ...fields], {
      env: { NOTIFY_SOCKET: socket, PATH: path ?? '/usr/bin:/bin' },
      timeout: toolTimeoutMs,
      killSignal: 'SIGKILL',
    });
  };
