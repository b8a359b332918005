export type { MirrorContact, MirrorSite, MirrorStation } from './content.ts';
export { createMirrorKeeper, removeMirror } from './kept.ts';
export { type Age, createMirror, type Mirror, type MirrorOptions } from './mirror.ts';
