import type { Logger } from 'pino';
import { Counter, Gauge, type Registry } from 'prom-client';
import type { Clock } from '#lib/clock.ts';
import { createLog, type LogLevel } from '#lib/log.ts';
import { followLevels, type LogLevels } from '#lib/log-levels.ts';
import { type LogTail, logTail } from '#lib/log-tail.ts';
import type { Redactor } from '#lib/secret.ts';

export interface SiteLog {
  readonly log: Logger;
  readonly levels: LogLevels;
  readonly tail: LogTail;
}

/** Newest lines that are kept in memory, for who asks over the LAN; the journal has the rest. */
const kept = { maxLines: 2000, maxBytes: 2 * 1024 * 1024 } as const;

/** The log of the daemon, with its newest lines and its levels at hand. */
export function siteLog(options: {
  level: LogLevel;
  redactor: Redactor;
  clock: Pick<Clock, 'monotonic'>;
  metrics: Registry;
}): SiteLog {
  const { level, redactor, clock, metrics } = options;
  const tail = logTail(kept);
  const lines = new Counter({
    name: 'siteward_log_lines_total',
    help: 'Lines of the log, by level',
    labelNames: ['level'],
    registers: [metrics],
  });
  new Gauge({
    name: 'siteward_log_tail_bytes',
    help: 'Bytes of the newest log lines that are kept in memory',
    registers: [metrics],
    collect() {
      this.set(tail.bytes);
    },
  });
  new Counter({
    name: 'siteward_log_tail_forgotten_total',
    help: 'Log lines that are no longer kept in memory',
    registers: [metrics],
    collect() {
      this.reset();
      this.inc(tail.forgotten);
    },
  });
  const levels = followLevels({
    configured: level,
    clock,
    onEnd: () => log.info({ configured: levels.shown().configured }, 'the log is as configured again'),
  });
  const log = createLog({
    ...{ level, redactor, onChild: levels.follow },
    onLine(line) {
      lines.inc({ level: line.level });
      tail.add(line);
    },
  });
  levels.follow(log);
  return { log, levels, tail };
}
