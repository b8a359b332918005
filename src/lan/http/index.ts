export { type ControlSocketOptions, createControlSocket } from './control-socket.ts';
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
export { type StatusInput, statusOf } from './status.ts';
