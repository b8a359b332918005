import { SitewardError } from '#errors.ts';
import type { SitePort } from '#lan/mqtt/index.ts';
import type { Clock } from '#lib/clock.ts';
import type { SiteView } from '#site/model/index.ts';
import type { CodeBook } from './codes.ts';
import type { House } from './house.ts';

/** The site as the MQTT room sees it. */
export function sitePort({ house, codes, clock }: { house: House; codes: CodeBook; clock: Clock }): SitePort {
  return {
    view: () => viewOf(house),
    submit: (command, reply) => house.controller?.submit(command, reply),
    checkCode: async (code) => codes.check(code),
    async events(limit) {
      const records = (await house.store?.events({ limit })) ?? [];
      return records.map(({ event }) => event);
    },
    async outbox() {
      const stats = await house.store?.stats();
      const depth = stats === undefined ? 0 : Object.values(stats.pending).reduce((sum, count) => sum + count, 0);
      const oldestS =
        stats?.oldest === undefined ? null : Math.max(0, Math.round((clock.wall() - stats.oldest) / 1000));
      return { depth, oldestS, dropped: stats?.lost ?? 0 };
    },
    cloudLink: () => (house.cloudUp === true ? 'online' : 'offline'),
  };
}

export function viewOf(house: House): SiteView {
  if (house.controller === undefined) throw new SitewardError('stopped', 'the controller is not running');
  return house.controller.view();
}
