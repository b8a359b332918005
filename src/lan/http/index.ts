export { createControlSocket } from './control-socket.ts';
export { lanOperations } from './operations.ts';
export type { LanPort } from './port.ts';
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
