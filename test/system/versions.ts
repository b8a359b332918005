/** The same sources, each calling itself by another version. */
export const versions = { old: '0.0.9', now: '0.1.0' } as const;
