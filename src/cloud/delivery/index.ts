export * from './delivery.ts';
export * from './files.ts';
export type { OnLink } from './link.ts';
export type { DeliveryState } from './state.ts';
export { helpFor, type StatusHelp, statusHelp } from './status-help.ts';
export { type Action, type LinkTrouble, type StatusRow, statusTable } from './status-table.ts';
export { type UploadAction, type UploadRow, uploadTable } from './upload-table.ts';
export type { UploadResume } from './uploader.ts';
