import { randomUUID } from 'node:crypto';
import { SitewardError } from '#errors.ts';
import type { SecurityTypePort } from '#lan/http/index.ts';
import type { Clock } from '#lib/clock.ts';
import type { CodeCheck, SitePlan } from '#site/model/index.ts';
import { type House, running } from './house.ts';
import { giveLocally, lockWords } from './local-command.ts';

/** The security type as the control socket changes it. */
export function securityTypePort({ house, clock }: { house: House; clock: Clock }): SecurityTypePort {
  /** While armed it takes away protection as a disarm does: the core's gate hears the code (C8, safety 1). */
  async function confirmed(code: string | undefined): Promise<CodeCheck> {
    const command = { id: randomUUID(), verb: 'security_type', partition: 'all', issuedAt: clock.wall() } as const;
    const { check, result } = await giveLocally(house, command, { code });
    const { error } = result;
    if (error !== undefined) throw new SitewardError('code_refused', lockWords(error) ?? 'the code does not count');
    if (check.role !== 'owner' && check.role !== 'installer')
      throw new SitewardError('code_refused', 'while armed it takes the code of an owner or installer');
    return check;
  }

  return {
    async change({ security_type: securityType, while_armed: whileArmed, code }) {
      const controller = running(house, 'controller');
      const { plan, authority } = controller.view();
      const wanted = authority?.asked?.by === 'config' ? authority.asked.securityType : plan.securityType;
      if (plan.securityTypeFixed === true && securityType !== wanted) {
        throw new SitewardError(
          'config_fixed',
          `site.security_type says ${wanted}; change it in the configuration and reload, or remove that line`,
        );
      }
      const { actor } = whileArmed ? await confirmed(code) : {};
      const by = actor === undefined ? {} : { actor };
      await controller.tell({ kind: 'security_type', securityType, by: 'cli', whileArmed, ...by });
      const after = controller.view();
      const asked = after.authority?.asked?.securityType;
      const idle = (asked ?? after.plan.securityType) === 4 ? armingSchedules(after.plan) : [];
      return {
        security_type: after.plan.securityType,
        ...(asked !== undefined && { asked }),
        ...(idle.length > 0 && { idle_schedules: idle }),
      };
    },
  };
}

/** Schedules that arm or disarm, which they cannot where another system decides. */
const armingSchedules = ({ schedules }: SitePlan): string[] =>
  (schedules?.schedules ?? []).flatMap(({ id, action }) =>
    action.kind === 'arm' || action.kind === 'disarm' ? [id] : [],
  );
