import type { DeviceRef, Signal } from '#site/model/index.ts';
import type { DeviceClock } from './device-clock.ts';

/** What a session finds out about a device beside its events. All of it is told as signals, with an end where it has one. */
export interface DeviceNews {
  /** The device's clock was read, or could not be. The verdict is told each time: the site may not have believed it before. */
  clockRead(clock: Pick<DeviceClock, 'offsetS' | 'unset'>): readonly Signal[];
  /** Its clock is wrong: it is looked at more often, until it is right. */
  readonly clockIsOff: boolean;
  /** The device was away and has forgotten us. */
  restarted(): void;
  /** What the device has told is on its way; a start it tells of itself needs no telling by us. */
  heard(signals: readonly Signal[]): void;
  /** A start the device has not told of itself. */
  restart(): readonly Signal[];
  /** Wall clock of the last start that was seen. */
  readonly rebootSeenAt: number | undefined;
}

/** Further off is a trouble; nearer than the second is none any more. Between them it stays what it was. */
const offS = 30;
const rightS = 20;

/** As the topic table names it, see `topics-core.ts`. */
const rebootItem = 'reboot';

export function deviceNews(source: DeviceRef, wall: () => number): DeviceNews {
  let isOff: boolean | undefined;
  let untold = false;
  let rebootSeenAt: number | undefined;
  return {
    clockRead({ offsetS, unset }) {
      if (offsetS === undefined) return [];
      const off = Math.abs(offsetS);
      if (off > offS) isOff = true;
      else if (off <= rightS) isOff = false;
      if (isOff === undefined) return [];
      const about = { kind: 'trouble', source, trouble: 'clock', replay: false } as const;
      return [{ ...about, active: isOff, ...(isOff && { detail: clockText(offsetS, unset) }) }];
    },
    get clockIsOff() {
      return isOff === true;
    },
    restarted() {
      untold = true;
      rebootSeenAt = wall();
    },
    heard(signals) {
      const tells = (signal: Signal) => signal.kind === 'detection' && signal.item === rebootItem;
      if (!signals.some(tells)) return;
      untold = false;
      rebootSeenAt = wall();
    },
    restart() {
      if (!untold) return [];
      untold = false;
      const pulse = { active: true, pulse: true, replay: false, topic: '', item: rebootItem };
      return [{ kind: 'detection', source, detection: 'system', ...pulse }];
    },
    get rebootSeenAt() {
      return rebootSeenAt;
    },
  };
}

function clockText(offsetS: number, unset: boolean): string {
  if (unset) return 'the device does not know the time: give it a time server';
  const way = offsetS > 0 ? 'ahead' : 'behind';
  const zone = Math.abs(offsetS) >= 1800 && nearQuarter(offsetS) ? ', as if it told local time' : '';
  return `the clock of the device is ${Math.abs(offsetS)} s ${way}${zone}: give it a time server`;
}

const nearQuarter = (offsetS: number): boolean => {
  const rest = Math.abs(offsetS) % 900;
  return Math.min(rest, 900 - rest) <= 30;
};
