import type { Clock } from '#lib/clock.ts';
import { firstNamed, textOf, type XmlElement } from '#lib/xml.ts';

/** Which time tokens are signed with: what the camera calls UTC, what it calls local, or ours (bug 5). */
export type TimeSource = 'utc' | 'local' | 'host';
export const isTimeSource = (value: unknown): value is TimeSource =>
  value === 'utc' || value === 'local' || value === 'host';

/**
 * A camera's clock, followed on our monotonic clock: a step of our wall clock changes nothing, a step of the camera's is
 * seen at the next reading.
 */
export interface DeviceClock {
  /** The time this camera checks tokens by, milliseconds since 1970; our own wall clock until it was read. */
  now(): number;
  /** Takes a GetSystemDateAndTime answer; returns by how many milliseconds the camera's clock had moved. */
  learn(answer: XmlElement): number;
  /** A token was refused: signs with the next time worth a try, each once, and with UTC when none is left. */
  tryNext(): void;
  /** A token was accepted: this time stays until it is refused. */
  accepted(): void;
  /** Takes what was found out before. */
  use(source: TimeSource): void;
  readonly source: TimeSource;
  /** The camera does not know the time yet: 1970, 2000 and the like, as after a start without a battery (bug 3). */
  readonly unset: boolean;
  /** By how much the camera's UTC is ahead of ours. */
  readonly offsetS: number | undefined;
}

const quarterHourMs = 15 * 60_000;
/** No camera that knows the time has one of before. */
const plausibleFrom = Date.UTC(2020, 0, 1);

export function deviceClock(clock: Clock): DeviceClock {
  /** The camera's times minus our monotonic clock. */
  let utc: number | undefined;
  let local: number | undefined;
  let source: TimeSource = 'utc';
  let tried: readonly TimeSource[] = [];
  const offsetMs = () => (utc === undefined ? 0 : utc + clock.monotonic() - clock.wall());

  /** UTC that is wrong by whole quarter hours is probably local time, so that our own is the better guess. */
  function looksLikeLocalTime(): boolean {
    const off = Math.abs(offsetMs());
    const rest = off % quarterHourMs;
    return off > quarterHourMs - 60_000 && Math.min(rest, quarterHourMs - rest) < 30_000;
  }

  function candidates(): readonly TimeSource[] {
    const hasLocal = local !== undefined && utc !== undefined && Math.abs(local - utc) > 60_000;
    const others: TimeSource[] = hasLocal ? ['local'] : [];
    if (looksLikeLocalTime()) others.unshift('host');
    else if (hasLocal && Math.abs(offsetMs()) > 60_000) others.push('host');
    return others;
  }

  return {
    now() {
      const anchor = source === 'local' ? (local ?? utc) : utc;
      return anchor === undefined || source === 'host' ? clock.wall() : anchor + clock.monotonic();
    },
    learn(answer) {
      const read = readTime(firstNamed(answer, 'UTCDateTime'));
      const readLocal = readTime(firstNamed(answer, 'LocalDateTime'));
      const next = read ?? readLocal;
      if (next === undefined) return 0;
      const moved = utc === undefined ? 0 : Math.abs(next - clock.monotonic() - utc);
      utc = next - clock.monotonic();
      local = readLocal === undefined ? undefined : readLocal - clock.monotonic();
      return moved;
    },
    tryNext() {
      tried = [...tried, source];
      source = (['utc', ...candidates()] as const).find((one) => !tried.includes(one)) ?? 'utc';
    },
    accepted() {
      tried = [];
    },
    use(found) {
      source = found;
    },
    get source() {
      return source;
    },
    get unset() {
      return utc !== undefined && utc + clock.monotonic() < plausibleFrom;
    },
    get offsetS() {
      return utc === undefined ? undefined : Math.round(offsetMs() / 1000);
    },
  };
}

/** Undefined when it is missing or no date. */
function readTime(time: XmlElement | undefined): number | undefined {
  if (time === undefined) return undefined;
  const part = (name: string) => {
    const text = textOf(firstNamed(time, name));
    return /^\d{1,4}$/.test(text) ? Number(text) : Number.NaN;
  };
  const ms = Date.UTC(part('Year'), part('Month') - 1, part('Day'), part('Hour'), part('Minute'), part('Second'));
  return Number.isNaN(ms) ? undefined : ms;
}
