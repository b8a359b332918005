import { z } from 'zod';
import { defineOperation } from '#lib/contract/operation.ts';
import { count, record } from './fields.ts';
import { checkedRefusals, json, partner, refusals, siteParams, sitePath } from './partner.ts';

/** Which security system handles the site (section 2.7 of the specification). */
export const securityTypes = {
  panelOnPrimaryBridge: 1,
  panelPerBridge: 2,
  videoSecurity: 3,
  external: 4,
} as const;

export const armingSetting = z.object({ security_type: z.int().min(1).max(4) });

export const armingSettingUpdate = record({
  security_type: count(1, 4).describe(
    '1 panel on the primary bridge, 2 panel per bridge, 3 video security of the service, 4 external system.',
  ),
});

const shared = {
  ...partner,
  path: `${sitePath}/arming-settings`,
  params: siteParams,
  repeatable: 'yes',
  availability: 'ready for B',
  rules: ['S-140', 'S-141'],
  tags: ['arming'],
} as const;
const setting = { 200: { description: 'The setting', schema: armingSetting } } as const;

const getArmingSettings = defineOperation({
  ...shared,
  id: 'getArmingSettings',
  method: 'GET',
  summary: 'Read which security system handles a site',
  responses: { ...setting, ...refusals },
});

const updateArmingSettings = defineOperation({
  ...shared,
  id: 'updateArmingSettings',
  method: 'PATCH',
  summary: 'Change which security system handles a site',
  body: json(armingSettingUpdate),
  responses: { ...setting, ...checkedRefusals },
});

export const armingSettingOperations = { getArmingSettings, updateArmingSettings } as const;
