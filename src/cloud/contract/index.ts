import { activityLogOperations } from './activity-logs.ts';
import { armingSettingOperations } from './arming-settings.ts';
import { armingStatusOperations } from './arming-status.ts';
import { audioOperations } from './audio.ts';
import { contactOperations } from './contacts.ts';
import { dealerOperations } from './dealers.ts';
import { deviceOperations } from './devices.ts';
import { postEvent } from './events.ts';
import { nvrOperations } from './nvrs.ts';
import { publicOperations } from './public.ts';
import { siteLinkOperations } from './site-links.ts';
import { siteOperations } from './sites.ts';
import { monitoringStationOperations } from './stations.ts';
import { clientCredentialsToken, jwtBearerToken } from './tokens.ts';
import { verificationOperations } from './verifications.ts';

export * from './activity-logs.ts';
export * from './arming-settings.ts';
export * from './arming-status.ts';
export * from './audio.ts';
export * from './bulk.ts';
export * from './contacts.ts';
export * from './dealers.ts';
export * from './devices.ts';
export * from './dialect.ts';
export * from './encode.ts';
export * from './errors.ts';
export * from './events.ts';
export * from './nvrs.ts';
export * from './public.ts';
export * from './site-links.ts';
export * from './sites.ts';
export * from './stations.ts';
export * from './time-zones.ts';
export * from './tokens.ts';
export * from './verifications.ts';

/** Both grants. They share one path under two base addresses; a server on one address takes them as one. */
export const tokenOperations = { jwtBearerToken, clientCredentialsToken } as const;
export const eventOperations = { postEvent } as const;

/** Everything under `/partner/v1` but events. */
export const partnerOperations = {
  ...dealerOperations,
  ...siteOperations,
  ...siteLinkOperations,
  ...monitoringStationOperations,
  ...contactOperations,
  ...deviceOperations,
  ...armingSettingOperations,
  ...armingStatusOperations,
  ...nvrOperations,
  ...activityLogOperations,
  ...verificationOperations,
} as const;

/** Every operation of the cloud service, by its id. */
export const cloudOperations = {
  ...tokenOperations,
  ...eventOperations,
  ...partnerOperations,
  ...audioOperations,
  ...publicOperations,
} as const;
