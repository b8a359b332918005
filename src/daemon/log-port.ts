import type { Logger } from 'pino';
import { SitewardError } from '#errors.ts';
import type { LogLevelsBody, LogLevelsShown, LogLine, LogPort } from '#lan/http/index.ts';
import type { LevelWish, LogLevels } from '#lib/log-levels.ts';
import type { LogTail, TailLine } from '#lib/log-tail.ts';
import { auditNotes } from '#site/audit-notes.ts';
import type { Note } from './audit-wiring.ts';

/** The log as the LAN API shows it. */
export function logPort({
  log,
  levels,
  tail,
  note,
}: {
  log: Logger;
  levels: LogLevels;
  tail: LogTail;
  note: Note;
}): LogPort {
  const shown = (): LogLevelsShown => {
    const { configured, parts, leftMs } = levels.shown();
    return {
      configured,
      parts: parts.map((part) => ({ ...part })),
      left_s: leftMs === undefined ? null : Math.ceil(leftMs / 1000),
    };
  };

  return {
    read(query) {
      const { items, nextAfter, missed } = tail.read(query);
      return { items: items.map(lineShown), next_after: nextAfter, missed };
    },

    levels: shown,

    setLevels({ level, parts, minutes }, by) {
      const known = new Set(levels.shown().parts.map(({ name }) => name));
      const unknown = Object.keys(parts ?? {}).find((name) => !known.has(name));
      if (unknown !== undefined)
        throw new SitewardError(
          'log_part_unknown',
          'no part of this name writes to the log; "siteward log level" lists them',
          {
            facts: { field: `parts.${unknown}` },
          },
        );
      levels.wish({ level, parts }, minutes * 60_000);
      const what = wordsOf({ level, parts, minutes });
      log.info({ by: by.client, what }, 'the levels of the log were changed');
      void note(auditNotes.logLevels(by, what));
      return shown();
    },
  };
}

function wordsOf({ level, parts = {}, minutes }: LevelWish & Pick<LogLevelsBody, 'minutes'>): string {
  const wishes = [
    ...(level === undefined ? [] : [level]),
    ...Object.entries(parts).map(([name, one]) => `${name} ${one}`),
  ];
  return wishes.length === 0 ? 'as configured' : `${wishes.join(', ')} for ${minutes} minutes`;
}

export function lineShown({ seq, text, level, part }: TailLine): LogLine {
  const { time, level: _, part: __, msg, ...more } = membersOf(text);
  return {
    seq,
    ...(typeof time === 'string' && { time }),
    level,
    ...(part !== undefined && { part }),
    msg: typeof msg === 'string' ? msg : '',
    more,
  };
}

/** A line that was no JSON is text. */
function membersOf(text: string): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(text) as Readonly<Record<string, unknown>>;
  } catch {
    return { msg: text };
  }
}
