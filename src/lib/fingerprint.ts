import { z } from 'zod';

/** Of a certificate, as browsers and pages of devices show it. */
export const fingerprint = z
  .string()
  .regex(/^([0-9A-F]{2}:){31}[0-9A-F]{2}$/i, 'must be a SHA-256 fingerprint: 32 bytes in hex with colons');
