export type { MirrorSite } from './content.ts';
export { createMirrorKeeper, removeMirror } from './kept.ts';
export { createMirror, type Mirror } from './mirror.ts';
