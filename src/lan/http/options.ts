import { isIP } from 'node:net';
import { isAbsolute } from 'node:path';
import { z } from 'zod';
import { isHostName } from '#lib/certificates.ts';
import { listenAddress } from '#lib/listen-address.ts';
import { secretRef } from '#lib/secret-ref.ts';

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
  listen: listenAddress('0.0.0.0:8443')
    .optional()
    .describe(
      'Where the LAN API listens, always with TLS: 0.0.0.0:8443 for every IPv4 address of this machine, "[::]:8443" for those of IPv6 too; without this key nothing listens.',
    ),
  names: z
    .array(z.string().refine((name) => isIP(name) > 0 || isHostName(name), 'must be a host name or an IP address'))
    .max(16)
    .default([])
    .describe(
      'What clients call this bridge besides its addresses, localhost and names in .local; requests under other names are refused.',
    ),
  certificate: z
    .strictObject({
      cert: z
        .string()
        .refine(isAbsolute, 'must be an absolute path')
        .describe('File with the certificate and those above it, PEM.'),
      key: secretRef.describe('Where its private key lies, PEM.'),
    })
    .optional()
    .describe('A certificate of your own; without this key the authority of the site makes one and renews it.'),
});
