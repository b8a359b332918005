export { createControlSocket } from './control-socket.ts';
export { lanOperations } from './operations.ts';
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
export type { LanPort, OutboxPort } from './port.ts';
export {
  type EventEntry,
  type EventsQuery,
  eventList,
  problem,
  type Readiness,
  type StatusDocument,
  statusDocument,
} from './schemas.ts';
export { statusOf } from './status.ts';
