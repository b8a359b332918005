import { execFile } from 'node:child_process';
import { arch, release, totalmem } from 'node:os';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { describe } from '#errors.ts';
import type { BundlePort, LanPort } from '#lan/http/index.ts';
import type { Clock } from '#lib/clock.ts';
import type { LogTail } from '#lib/log-tail.ts';
import { version } from '#lib/version.ts';
import { withDeadline } from '#lib/wait.ts';
import { auditNotes } from '#site/audit-notes.ts';
import { type Asker, isoTime } from '#site/model/index.ts';
import { alone } from './alone.ts';
import type { Note } from './audit-wiring.ts';
import { lineShown } from './log-port.ts';

/** Of each part: where one does not come, as from a disk that hangs, the others do. */
const partDeadlineMs = 5000;
const walkMs = 3000;
const parkedShown = 200;
const gapsShown = 100;
const logLines = 2000;
/** Lines that are written down in one turn of the loop. */
const linesAtOnce = 200;

interface Part {
  readonly name: string;
  readonly about: string;
  /** As JSON. */
  take(signal: AbortSignal): Promise<string>;
}

/** Gathers what is asked for when a fault is looked for. All of it is what others may read of siteward as well (safety 4). */
export function bundlePort(options: {
  port: () => LanPort;
  tail: LogTail;
  clock: Pick<Clock, 'wall' | 'monotonic'>;
  note: Note;
}): BundlePort {
  const { clock } = options;
  const making = alone('another bundle is being made');
  const part = (name: string, about: string, take: (port: LanPort) => unknown): Part => ({
    name,
    about,
    take: async () => JSON.stringify((await take(options.port())) ?? null),
  });
  const parts: readonly Part[] = [
    part('versions', 'siteward, Node, the kernel and the programs siteward calls', versions),
    part('config', 'the configuration as written: secrets as references, users by their ids', ({ config }) =>
      config.show(),
    ),
    part('status', 'what "siteward status --json" shows: parts, partitions, troubles, hints', (port) => port.status()),
    part('partitions', 'how each is armed, and what is in the way', (port) => port.partitions()),
    part('zones', 'the zones with their state', (port) => port.zones()),
    part('devices', 'whether each device answers', (port) => port.devices()),
    part('cameras', 'the cameras in full: address, model, serial number, faults', ({ cameras }) => cameras.list()),
    part('outbox', 'what waits for the cloud', ({ outbox }) => outbox.show()),
    part('parked', `events the cloud refused, at most ${parkedShown}, with the reasons`, ({ outbox }) =>
      outbox.parked({ limit: parkedShown }),
    ),
    part('gaps', `events that were lost, at most ${gapsShown} gaps`, ({ outbox }) => outbox.gaps(gapsShown)),
    part('audit', 'whether the chain of the audit log is whole; no entries', ({ audit }) => verdict(audit)),
    part('log_levels', 'how much is logged', ({ log }) => log.levels()),
    {
      name: 'log',
      about: `the newest lines of the log, at most ${logLines}`,
      take: () => written(options.tail.read({ limit: logLines }).items, lineShown),
    },
    part('metrics', 'the metrics as text', (port) => port.metrics()),
  ];

  async function verdict(audit: LanPort['audit']): Promise<unknown> {
    const untilMono = clock.monotonic() + walkMs;
    let found = await audit.verify({});
    while (found.walk !== null && clock.monotonic() < untilMono) found = await audit.verify({ walk: found.walk });
    const { walk: _, ...said } = found;
    return said;
  }

  const contents = parts.map(({ name, about }) => ({ name, about }));
  return {
    contents: () => contents,

    make: (by, signal) => making(() => gathered(by, signal)),
  };

  async function gathered(by: Asker, signal: AbortSignal): Promise<string> {
    const missing: Record<string, string> = {};
    const taken = await Promise.all(
      parts.map(async ({ name, take }) => {
        await nextTurn();
        try {
          return `${JSON.stringify(name)}:${await withDeadline(partDeadlineMs, signal, take, `taking ${name}`)}`;
        } catch (error) {
          signal.throwIfAborted();
          missing[name] = describe(error);
          return undefined;
        }
      }),
    );
    await options.note(auditNotes.bundle(by));
    const head = JSON.stringify({ format: 1, made_at: isoTime(clock.wall()), contents, missing });
    return `${head.slice(0, -1)},"parts":{${taken.filter((text) => text !== undefined).join(',')}}}`;
  }
}

/** A long list as JSON, in several turns of the loop. */
async function written<T>(items: readonly T[], shown: (item: T) => unknown): Promise<string> {
  const texts: string[] = [];
  for (const [index, item] of items.entries()) {
    if (index % linesAtOnce === linesAtOnce - 1) await nextTurn();
    texts.push(JSON.stringify(shown(item)));
  }
  return `[${texts.join(',')}]`;
}

const run = promisify(execFile);

/** First line of what a program says of itself; null where it is not there. */
async function said(program: string, ...args: readonly string[]): Promise<string | null> {
  const bounds = { timeout: 2000, killSignal: 'SIGKILL', maxBuffer: 64 * 1024 } as const;
  // No more of the environment than it takes: secrets may be in it.
  const options = { ...bounds, env: { PATH: process.env.PATH } };
  const out = await run(program, args, options).catch((error: unknown) =>
    // mosquitto tells its version and ends with a failure.
    error instanceof Error && 'stdout' in error ? error : undefined,
  );
  const text = out === undefined ? '' : String(out.stdout);
  return text.split('\n')[0]?.slice(0, 200) || null;
}

async function versions() {
  const [ffmpeg, mosquitto, openssl] = await Promise.all([
    said('ffmpeg', '-version'),
    said('mosquitto', '-h'),
    said('openssl', 'version'),
  ]);
  return {
    siteward: version,
    node: process.version,
    kernel: release(),
    arch: arch(),
    memory_bytes: totalmem(),
    ...{ ffmpeg, mosquitto, openssl },
  };
}
