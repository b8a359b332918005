export {
  claimCodeAnswer,
  endedAnswer,
  type KeyEntry,
  keyList,
  newKeyAnswer,
  type PersonEntry,
  personList,
  resetAnswer,
  type SelfAnswer,
  type SessionShown,
  sessionList,
} from './access-schemas.ts';
export { type ActivityPort, type CloudActivity, cloudActivity } from './activity-operations.ts';
export {
  type AudioMessageEntry,
  messageList,
  type PlaybackEntry,
  playbackList,
  type SpeakerEntry,
  speakerList,
} from './audio-schemas.ts';
export type { AuditPort, InputsPort } from './audit-port.ts';
export {
  type AuditEntryBody,
  type AuditExportPage,
  type AuditVerdictBody,
  auditExportPage,
  auditPage,
  auditVerdict,
  inputsPage,
  openedAudit,
} from './audit-schemas.ts';
export { type BackupPort, backupAnswer } from './backup-operations.ts';
export type { BundlePort } from './bundle-handlers.ts';
export { bundleContents, supportBundle } from './bundle-operations.ts';
export type { CamerasPort } from './cameras-handlers.ts';
export {
  type CameraEntry,
  type CameraMessage,
  cameraList,
  cameraMessages,
  certificateAnswer,
  trustedAnswer,
} from './cameras-schemas.ts';
export type { CloudChange } from './cloud-changes.ts';
export {
  type CloudDevice,
  type CloudDeviceList,
  type CloudDevicesPort,
  cloudDeviceList,
  type DevicePlanShown,
  type DevicesSynced,
  devicePlan,
  devicesSynced,
  syncDevicesMs,
} from './cloud-devices.ts';
export { cloudOperations } from './cloud-operations.ts';
export type { BypassAnswer, CloudPathsPort, DispatchTold, PartitionAnswer, PartitionPicture } from './cloud-port.ts';
export { type CommandAnswer, type CommandBody, commandAnswer } from './commands-schemas.ts';
export type { ConfigChange, ConfigSaved } from './config-changes.ts';
export type { ConfigPort } from './config-handlers.ts';
export { type ConfigChecked, type ConfigShown, configChecked, configShown } from './config-operations.ts';
export { createControlSocket } from './control-socket.ts';
export type { DangerPort } from './danger.ts';
export { type DeviceEntry, deviceList } from './devices.ts';
export { devicesShown } from './devices-shown.ts';
export type { FindCamerasPort, FoundCamera, InspectBody, InspectedCamera } from './find-cameras.ts';
export { createIdempotency } from './idempotency.ts';
export { createHttpListener, type ShownCertificate } from './listener.ts';
export { createLive, type Live } from './live.ts';
export type { EventHistory } from './live-catch-up.ts';
export { settledText } from './live-list.ts';
export type { LogPort } from './log-handlers.ts';
export {
  type LogLevelsBody,
  type LogLevelsShown,
  type LogLine,
  type LogPage,
  logLevelsShown,
  logPage,
} from './log-operations.ts';
export type { MediaPort } from './media-handlers.ts';
export { pieceBytes } from './media-piece.ts';
export {
  type MediaDetail,
  type MediaEntry,
  type MediaExport,
  type MediaFile,
  mediaDetail,
  mediaExport,
  mediaList,
} from './media-schemas.ts';
export { type KeptContacts, keptContacts, type MirrorPort, type SiteMirror, siteMirror } from './mirror-operations.ts';
export { isPublic } from './network-address.ts';
export { lanDocument } from './openapi.ts';
export { lanOperations } from './operations.ts';
export {
  droppedAnswer,
  gapList,
  maxSeqs,
  type OutboxDocument,
  type OutboxHistory,
  outboxDocument,
  outboxHistory,
  type ParkedDetail,
  type ParkedEntry,
  parkedDetail,
  parkedList,
  retriedAnswer,
  type WaitingEntry,
  type WaitingQuery,
  waitingList,
} from './outbox-schemas.ts';
export type { PageFile } from './page-files.ts';
export { type PartitionEntry, partitionList } from './partitions.ts';
export { partitionEntries } from './partitions-shown.ts';
export type { CommandsPort, LanPort, OutboxPort, SchedulesPort, UsersPort } from './port.ts';
export { postponedAnswer, type ScheduleRun, scheduleList } from './schedules-schemas.ts';
export {
  type EventEntry,
  eventList,
  type PartitionStatus,
  problem,
  type StatusDocument,
  statusDocument,
} from './schemas.ts';
export { type SecurityTypeBody, type SecurityTypePort, securityTypeAnswer } from './security-type.ts';
export { partitionsShown, statusOf } from './status.ts';
export {
  changedAnswer,
  type NewUserBody,
  removedAnswer,
  type UserEntry,
  userEntry,
  userList,
} from './users-schemas.ts';
export { type AnswerAnswer, answerAnswer, verificationAsked, verificationList } from './verification-schemas.ts';
export { type ZoneEntry, zoneList } from './zones.ts';
export { zonesShown } from './zones-shown.ts';
