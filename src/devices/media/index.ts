export { type CaptureJob, createMedia, type Media } from './media.ts';
export type * from './ports.ts';
export { smallerJpeg } from './smaller.ts';
export { createSpool } from './spool.ts';
export { createStreams, type Streams } from './streams.ts';
