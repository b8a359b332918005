export { type ActivityPort, type CloudActivity, cloudActivity } from './activity-operations.ts';
export { messageList, playbackList, removedMessage, speakerList } from './audio-schemas.ts';
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
export type { CamerasPort } from './cameras-handlers.ts';
export {
  type CameraEntry,
  type CameraMessage,
  cameraList,
  cameraMessages,
  certificateAnswer,
  trustedAnswer,
} from './cameras-schemas.ts';
export { type CommandAnswer, type CommandBody, commandAnswer, commandBody } from './commands-schemas.ts';
export { createControlSocket } from './control-socket.ts';
export type { MediaPort } from './media-handlers.ts';
export {
  type MediaDetail,
  type MediaEntry,
  type MediaExport,
  type MediaFile,
  mediaDetail,
  mediaExport,
  mediaList,
  pieceBytes,
} from './media-schemas.ts';
export { controlOperations, lanOperations } from './operations.ts';
export {
  droppedAnswer,
  type GapEntry,
  gapList,
  maxSeqs,
  type OutboxDocument,
  outboxDocument,
  type ParkedDetail,
  type ParkedEntry,
  type ParkedQuery,
  parkedDetail,
  parkedList,
  retriedAnswer,
  type WaitingEntry,
  type WaitingList,
  type WaitingQuery,
  waitingList,
} from './outbox-schemas.ts';
export type { CommandsPort, LanPort, OutboxPort, SchedulesPort, UsersPort } from './port.ts';
export {
  postponedAnswer,
  type ScheduleList,
  type ScheduleRun,
  scheduleList,
} from './schedules-schemas.ts';
export {
  type EventEntry,
  type EventsQuery,
  eventList,
  problem,
  type Readiness,
  type StatusDocument,
  statusDocument,
} from './schemas.ts';
export {
  type SecurityTypeAnswer,
  type SecurityTypeBody,
  type SecurityTypePort,
  securityTypeAnswer,
} from './security-type.ts';
export { statusOf } from './status.ts';
export {
  changedAnswer,
  type NewCodesBody,
  type NewUserBody,
  newUserBody,
  removedAnswer,
  type UserEntry,
  userEntry,
  userList,
} from './users-schemas.ts';
export { type AnswerAnswer, answerAnswer, verificationAsked, verificationList } from './verification-schemas.ts';
export { type ZoneEntry, zoneList, zonesShown } from './zones.ts';
