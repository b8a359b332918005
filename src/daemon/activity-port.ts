import type { Logger } from 'pino';
import { partnerPlace } from '#box/partner.ts';
import { instant, isOfOffice } from '#cloud/contract/index.ts';
import type { Settings } from '#config/index.ts';
import { describe, SitewardError } from '#errors.ts';
import type { ActivityPort, CloudActivity } from '#lan/http/index.ts';
import type { Clock } from '#lib/clock.ts';
import type { ClockQualityWatch } from '#site/clock-quality.ts';
import { isoTime } from '#site/model/index.ts';
import { type Auditors, seesAll } from './auditors.ts';
import { cloudClient } from './cloud.ts';

/** Shorter than whoever asks waits. */
const askMs = 7000;

/** Asks the cloud when somebody wants to see it; nothing of it is kept. */
export function activityPort(options: {
  settings: () => Settings;
  clock: Clock;
  quality: ClockQualityWatch;
  log: Logger;
  auditors: Pick<Auditors, 'whose'>;
}): ActivityPort {
  const { clock, quality, log, auditors } = options;
  return {
    async cloud({ session, limit, since, before }, signal) {
      const shown = seesAll(auditors.whose(session)) ? () => true : isOfOffice;
      const way = partnerPlace(options.settings());
      if (typeof way === 'string') return { state: 'none', reason: way, items: [] };
      const client = cloudClient(way.section, { clock, quality, log });
      try {
        const { value } = await client.manage.listActivityLogs({
          params: way.place,
          query: {
            limit,
            ...(since !== undefined && { startDate: since }),
            ...(before !== undefined && { endDate: before }),
          },
          signal: AbortSignal.any([signal, AbortSignal.timeout(askMs)]),
        });
        return { state: 'read', items: value.map(itemOf).filter(shown).slice(0, limit) };
      } catch (error) {
        signal.throwIfAborted();
        const reason = error instanceof SitewardError ? describe(error) : `no answer within ${askMs / 1000} s`;
        return { state: 'away', reason, items: [] };
      } finally {
        await client.close();
      }
    },
  };
}

function itemOf(entry: {
  readonly activity_log_id?: string | undefined;
  readonly type?: string | undefined;
  readonly description?: string | undefined;
  readonly created_at?: string | undefined;
}): CloudActivity['items'][number] {
  const at = entry.created_at === undefined ? Number.NaN : instant(entry.created_at);
  return {
    at: Number.isNaN(at) ? null : isoTime(at),
    id: entry.activity_log_id ?? null,
    type: entry.type ?? '',
    description: entry.description ?? '',
  };
}
