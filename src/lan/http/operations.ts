import { accessOperations } from './access-operations.ts';
import { activityOperations } from './activity-operations.ts';
import { audioOperations } from './audio-operations.ts';
import { auditOperations } from './audit-operations.ts';
import { backupOperations } from './backup-operations.ts';
import { bundleOperations } from './bundle-operations.ts';
import { cameraOperations } from './cameras-operations.ts';
import { cloudChangesOperations } from './cloud-changes.ts';
import { cloudDevicesOperations } from './cloud-devices.ts';
import { commandOperations } from './commands-operations.ts';
import { configOperations } from './config-operations.ts';
import { dangerOperations } from './danger.ts';
import { deviceOperations } from './devices.ts';
import { findCamerasOperations } from './find-cameras.ts';
import { identityOperations } from './identity-operations.ts';
import { logOperations } from './log-operations.ts';
import { mediaOperations } from './media-operations.ts';
import { mirrorOperations } from './mirror-operations.ts';
import { openApiOperations } from './openapi-operations.ts';
import { outboxOperations } from './outbox-operations.ts';
import { partitionOperations } from './partitions.ts';
import { scheduleOperations } from './schedules-operations.ts';
import { securityTypeOperations } from './security-type.ts';
import { stateOperations } from './state-operations.ts';
import { streamOperations } from './stream-operations.ts';
import { userOperations } from './users-operations.ts';
import { verificationOperations } from './verification-operations.ts';
import { zoneOperations } from './zones.ts';

/** Every operation of the LAN API, by its id. All listeners serve the same; who may do what is in the table of permissions. */
export const lanOperations = {
  ...stateOperations,
  ...identityOperations,
  ...streamOperations,
  ...outboxOperations,
  ...userOperations,
  ...scheduleOperations,
  ...auditOperations,
  ...activityOperations,
  ...commandOperations,
  ...verificationOperations,
  ...securityTypeOperations,
  ...zoneOperations,
  ...partitionOperations,
  ...deviceOperations,
  ...cameraOperations,
  ...cloudDevicesOperations,
  ...cloudChangesOperations,
  ...mediaOperations,
  ...audioOperations,
  ...accessOperations,
  ...logOperations,
  ...configOperations,
  ...findCamerasOperations,
  ...dangerOperations,
  ...bundleOperations,
  ...backupOperations,
  ...mirrorOperations,
  ...openApiOperations,
} as const;
