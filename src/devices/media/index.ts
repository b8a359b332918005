export { createMedia, type Media } from './media.ts';
export type * from './ports.ts';
export { smallerJpeg } from './smaller.ts';
export { createStreams, type Streams } from './streams.ts';
