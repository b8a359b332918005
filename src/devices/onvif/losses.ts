import type { DeviceId, Signal } from '#site/model/index.ts';

/** Why a channel shows nothing. */
export type Cause = 'signal' | 'gone';

interface Channel {
  readonly causes: Set<Cause>;
  /** Since when it is as it is, monotonic; undefined while that is told. */
  since: number | undefined;
  told: boolean | undefined;
}

/**
 * The picture of each channel of a recorder. A loss is told when it has lasted, its end at once: lost by the device's word (SignalLoss) or because it lists the channel no more.
 * Nothing is told while the recorder itself is away, and after it came back only what has lasted.
 */
export interface Losses {
  note(channel: DeviceId, cause: Cause, active: boolean, now: number): void;
  /** The device was away: what was told may have changed meanwhile. */
  restart(now: number): void;
  due(now: number): readonly Signal[];
  dueMs(now: number): number;
  isLost(channel: DeviceId): boolean;
}

export function createLosses(ids: readonly DeviceId[], afterMs: number): Losses {
  const channels = new Map<DeviceId, Channel>(
    ids.map((id) => [id, { causes: new Set(), since: undefined, told: undefined }]),
  );

  function settle(channel: Channel, now: number): void {
    const lost = channel.causes.size > 0;
    if (lost === channel.told) channel.since = undefined;
    else channel.since ??= now;
  }

  const waitOf = ({ told, causes }: Channel) => (told === true && causes.size === 0 ? 0 : afterMs);

  return {
    note(id, cause, active, now) {
      const channel = channels.get(id);
      if (channel === undefined) return;
      const lost = channel.causes.size > 0;
      if (active) channel.causes.add(cause);
      else channel.causes.delete(cause);
      if (lost !== channel.causes.size > 0) channel.since = undefined;
      settle(channel, now);
    },
    restart(now) {
      for (const channel of channels.values()) {
        channel.causes.delete('signal');
        channel.told = undefined;
        channel.since = now;
      }
    },
    due(now) {
      const signals: Signal[] = [];
      for (const [id, channel] of channels) {
        if (channel.since === undefined || now - channel.since < waitOf(channel)) continue;
        const active = channel.causes.size > 0;
        signals.push({
          kind: 'detection',
          source: { kind: 'camera', id },
          detection: 'video_loss',
          active,
          pulse: false,
          replay: channel.told === undefined,
          topic: channel.causes.has('gone') ? 'siteward:Channel/Gone' : 'VideoSource/SignalLoss',
        });
        channel.told = active;
        channel.since = undefined;
      }
      return signals;
    },
    dueMs: (now) =>
      Math.min(
        ...[...channels.values()].map((one) =>
          one.since === undefined ? Number.POSITIVE_INFINITY : Math.max(0, one.since + waitOf(one) - now),
        ),
      ),
    isLost: (id) => channels.get(id)?.told === true,
  };
}
