import { join } from 'node:path';

/**
 * What a test starts as `siteward`: in `npm test` the bundle, which is what is installed, with its crash points left in (it starts in
 * half the time); else the sources.
 */
export const program = process.env.SITEWARD_PROGRAM ?? join(import.meta.dirname, '..', '..', 'src', 'cli', 'main.ts');
