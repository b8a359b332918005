import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Check, type Finding, good, silent, skipped, warning } from './finding.ts';

/** systemd-timesyncd makes it once the clock is synchronised; chrony has a folder of its own while it runs. */
const timeServices = ['run/systemd/timesync/synchronized', 'run/chrony/chronyd.pid'];

/** Whether somebody stands for the time. How far it is off is seen where the cloud answers. */
export const clockCheck: Check = {
  id: 'clock',
  title: 'clock',
  look({ daemon: { status }, root }): readonly Finding[] {
    const now = new Date().toISOString();
    const quality = status?.clock.quality;
    const isSynced = timeServices.some((path) => existsSync(join(root, path)));
    if (quality === 'synced' || (quality === undefined && isSynced)) return [good(`${now}, synchronised`)];
    const what = {
      advice:
        'have it set by NTP: "timedatectl set-ntp true", or by a time server of the site (NTP= in /etc/systemd/timesyncd.conf)',
    };
    if (quality === 'doubtful')
      return [
        warning({
          ...what,
          seen: `${now}, doubtful: it was set, or is behind what has happened, or the cloud disagrees`,
          means: 'events are marked so, and no schedule disarms until somebody confirms the time',
        }),
      ];
    if (quality === 'holdover')
      return [
        warning({
          ...what,
          seen: `${now}, nobody confirms it`,
          means: 'it runs on by itself and drifts, seconds in a week',
        }),
      ];
    return [skipped(`${now}; whether it is right nobody here knows: no time service runs, and ${silent}`)];
  },
};
