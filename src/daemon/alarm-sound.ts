import { randomUUID } from 'node:crypto';
import { SitewardError } from '#errors.ts';
import type { LanPort } from '#lan/http/index.ts';
import type { Clock } from '#lib/clock.ts';
import { roles } from '#site/model/index.ts';
import type { House } from './house.ts';
import { giveLocally, lockWords } from './local-command.ts';

/** Who ends the sound of an alarm over the network, as over MQTT: whoever may disarm. The gate hears the code (C8). */
export function alarmSound({ house, clock }: { house: House; clock: Clock }): LanPort['mayEndAlarms'] {
  return async (code, by, signal) => {
    if (code === undefined) throw refused(needed);
    const command = { id: randomUUID(), verb: 'cancel', partition: 'all', issuedAt: clock.wall() } as const;
    const { check, result } = await giveLocally(house, command, { code, by, signal });
    if (result.error !== undefined) throw refused(lockWords(result.error) ?? 'the code does not count');
    if (check.role !== undefined && !roles[check.role].may.includes('disarm')) throw refused(needed);
  };
}

const needed = 'the sound of an alarm ends with the code of somebody who may disarm';

const refused = (reason: string): SitewardError =>
  new SitewardError('code_refused', reason, { facts: { field: 'code' } });
