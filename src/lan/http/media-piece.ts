/** Bytes of one piece of a media file at most. */
export const pieceBytes = 1024 * 1024;
