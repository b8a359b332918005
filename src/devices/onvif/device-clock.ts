import type { Clock } from '#lib/clock.ts';
import { firstNamed, textOf, type XmlElement } from '#lib/xml.ts';

/**
 * A camera's clock, followed on our monotonic clock: a step of our wall clock changes nothing, a step of the camera's is
 * seen at the next reading.
 */
export interface DeviceClock {
  /** The camera's present time, milliseconds since 1970; our own wall clock until it was read. */
  now(): number;
  /** Takes a GetSystemDateAndTime answer; returns by how many milliseconds the camera's clock had moved. */
  learn(answer: XmlElement): number;
  /** The camera's UTC differs from ours by whole quarter hours, so it is probably local time: use ours (bug 5). */
  useHostTime(): void;
  looksLikeLocalTime(): boolean;
  readonly offsetS: number | undefined;
}

const quarterHourMs = 15 * 60_000;

export function deviceClock(clock: Clock): DeviceClock {
  let anchor: number | undefined;
  let host = false;
  const offsetMs = () => (anchor === undefined ? 0 : anchor + clock.monotonic() - clock.wall());
  return {
    now: () => (anchor === undefined || host ? clock.wall() : anchor + clock.monotonic()),
    learn(answer) {
      const read = readUtc(answer);
      if (read === undefined) return 0;
      const next = read - clock.monotonic();
      const moved = anchor === undefined ? 0 : Math.abs(next - anchor);
      anchor = next;
      return moved;
    },
    useHostTime() {
      host = true;
    },
    looksLikeLocalTime() {
      const off = Math.abs(offsetMs());
      const rest = off % quarterHourMs;
      return !host && off > quarterHourMs - 60_000 && Math.min(rest, quarterHourMs - rest) < 30_000;
    },
    get offsetS() {
      return anchor === undefined ? undefined : Math.round(offsetMs() / 1000);
    },
  };
}

/** UTCDateTime of the answer; undefined when it is missing or no date. */
function readUtc(answer: XmlElement): number | undefined {
  const time = firstNamed(answer, 'UTCDateTime') ?? firstNamed(answer, 'LocalDateTime');
  if (time === undefined) return undefined;
  const part = (name: string) => {
    const text = textOf(firstNamed(time, name));
    return /^\d{1,4}$/.test(text) ? Number(text) : Number.NaN;
  };
  const ms = Date.UTC(part('Year'), part('Month') - 1, part('Day'), part('Hour'), part('Minute'), part('Second'));
  return Number.isNaN(ms) ? undefined : ms;
}
