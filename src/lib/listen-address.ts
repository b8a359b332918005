import { z } from 'zod';
import { hostAndPort } from './host.ts';

/** Where something listens, `ADDRESS:PORT` as `hostAndPort` takes it apart. */
export const listenAddress = (example: string) =>
  z
    .string()
    .regex(/^(\[[0-9a-fA-F:]+\]|[A-Za-z0-9.-]+):\d{1,5}$/, `must be ADDRESS:PORT, such as ${example}`)
    .refine((text) => hostAndPort(text).port <= 65_535, 'must be ADDRESS:PORT with a port of at most 65535');
