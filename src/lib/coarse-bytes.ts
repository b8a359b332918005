/** Bytes of one step. A silent alarm writes some hundred thousand. */
export const coarseStep = 16 * 1024 * 1024;

/**
 * How full files and disks are, as it is shown to everybody: whole steps, rounded down. To the byte, who watches would see that
 * something was written while nothing happened that he may know of (safety 4).
 */
export const coarseBytes = (bytes: number): number => Math.floor(bytes / coarseStep) * coarseStep;
