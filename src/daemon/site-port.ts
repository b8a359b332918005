import { SitewardError } from '#errors.ts';
import type { SitePort } from '#lan/mqtt/index.ts';
import type { Clock } from '#lib/clock.ts';
import type { SiteView } from '#site/model/index.ts';
import type { House } from './house.ts';
import type { OutboxCount } from './outbox-count.ts';
import { verificationsPort } from './verification.ts';

/** The site as the MQTT room sees it. */
export function sitePort(options: { house: House; count: OutboxCount; clock: Clock }): SitePort {
  const { house, count, clock } = options;
  return {
    view: () => viewOf(house),
    submit: (command, reply) => house.controller?.submit(command, reply),
    panic: (call, reply) => house.controller?.panic(call, reply),
    async checkCode(code) {
      if (house.codes === undefined) throw new SitewardError('stopped', 'the codes are not running');
      return house.codes.check(code);
    },
    async events(limit) {
      const records = (await house.store?.events({ limit })) ?? [];
      return records.map(({ event }) => event);
    },
    verifications: verificationsPort(house),
    async outbox() {
      const stats = await count();
      if (typeof stats === 'string') throw new SitewardError('store_unavailable', stats);
      const { pending, oldest, lost } = stats;
      const depth = Object.values(pending).reduce((sum, waiting) => sum + waiting, 0);
      const oldestS = oldest === undefined ? null : Math.max(0, Math.round((clock.wall() - oldest) / 1000));
      return { depth, oldestS, dropped: lost };
    },
    cloudLink: () => (house.cloudUp === true ? 'online' : 'offline'),
  };
}

export function viewOf(house: House): SiteView {
  if (house.controller === undefined) throw new SitewardError('stopped', 'the controller is not running');
  return house.controller.view();
}
