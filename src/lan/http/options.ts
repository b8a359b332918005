import { isAbsolute } from 'node:path';
import { z } from 'zod';
import { version } from '#lib/version.ts';

/** Linux takes 107 bytes for the name of a unix socket. */
const socketPathCap = 107;

/** The `http:` section. */
export const httpOptions = z.strictObject({
  control_socket: z
    .string()
    .refine(isAbsolute, 'must be an absolute path')
    .refine((path) => Buffer.byteLength(path) <= socketPathCap, `must be at most ${socketPathCap} bytes long`)
    .default('/run/siteward/control.sock')
    .describe('Unix socket that "siteward status" and the other commands talk to.'),
  listen: z
    .never({ error: `is not available in version ${version}; remove it` })
    .optional()
    .describe('Address of the LAN API; not available in this version.'),
});
export type HttpOptions = z.output<typeof httpOptions>;
