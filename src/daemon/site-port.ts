import type { Logger } from 'pino';
import type { Settings } from '#config/index.ts';
import { SitewardError } from '#errors.ts';
import type { SitePort } from '#lan/mqtt/index.ts';
import type { Clock } from '#lib/clock.ts';
import { rateLimit } from '#lib/token-bucket.ts';
import { auditNotes } from '#site/audit-notes.ts';
import type { ClockQualityWatch } from '#site/clock-quality.ts';
import { audioPort } from './audio-port.ts';
import { newAuditLines } from './audit-port.ts';
import { checkWith, noteIn } from './audit-wiring.ts';
import { callsPort } from './call-for-help.ts';
import { takePicture } from './cameras-port.ts';
import { dispatcher } from './dispatch.ts';
import { type House, viewOf } from './house.ts';
import type { OutboxCount } from './outbox-count.ts';
import { verificationsPort } from './verification.ts';

/** The site as the MQTT room sees it. */
export function sitePort(options: {
  house: House;
  count: OutboxCount;
  clock: Clock;
  settings: () => Settings;
  quality: ClockQualityWatch;
  log: Logger;
}): SitePort {
  const { house, count, clock } = options;
  const note = noteIn(house);
  const wall = () => clock.wall();
  /** A client that goes on and on must not push others out of the audit log. */
  const retained = rateLimit({ clock, burst: 5, perSecond: 1 / 60, cap: 1 });
  return {
    view: () => viewOf(house),
    ...callsPort(house, wall),
    snapshot: (camera, client, signal) =>
      takePicture({ house, wall, note }, camera, { signal, by: { source: 'lan', client } }),
    /** As the configuration says now. */
    get dispatch() {
      return dispatcher({ ...options, note });
    },
    checkCode: checkWith(house),
    async events(limit) {
      const records = (await house.store?.events({ limit })) ?? [];
      return records.map(({ event }) => event);
    },
    verifications: verificationsPort(house, options.log),
    audio: audioPort({ house, settings: options.settings, note, clock }),
    async outbox() {
      const stats = await count();
      if (typeof stats === 'string') throw new SitewardError('store_unavailable', stats);
      const { pending, oldest, lost } = stats;
      const depth = Object.values(pending).reduce((sum, waiting) => sum + waiting, 0);
      const oldestS = oldest === undefined ? null : Math.max(0, Math.round((clock.wall() - oldest) / 1000));
      return { depth, oldestS, dropped: lost };
    },
    watchPanel(panel, minutes, client) {
      const isThere = house.rawWatch?.watch(panel, minutes) === true;
      if (isThere) void note(auditNotes.rawWatched(panel, minutes, client));
      return isThere;
    },
    auditLines: (after, limit) => newAuditLines(house.store, after, limit),
    retainedRefused(verb) {
      if (retained.take('site')) void note(auditNotes.retainedRefused(verb));
    },
    cloudLink: () => (house.cloudUp === true ? 'online' : 'offline'),
  };
}
