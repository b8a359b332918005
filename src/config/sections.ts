import { z } from 'zod';
import { duration } from '#lib/duration.ts';
import { secretRef } from '#lib/secret-ref.ts';
import { version } from '#lib/version.ts';
import { partitionId } from '#site/model/index.ts';

/** The sections that belong to no room of their own. */

const name = z.string().min(1).max(64);
/** The service's ids and ours travel in paths and topics, so they are kept short and printable. */
const externalId = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$/, 'must be 1 to 64 letters, digits, . _ : or -');

export const siteOptions = z.strictObject({
  id: z.string().min(1).max(64).describe('Id the cloud service gave the site, in quotes.'),
  external_id: externalId.describe('Your own id of the site; it never changes and becomes part of the MQTT topics.'),
  name: name.optional().describe('Name of the site for people.'),
  dealer_id: z.string().min(1).max(64).optional().describe('Id the cloud service gave the dealer, in quotes.'),
  timezone: z.string().min(1).max(64).describe('Time zone of the site by its IANA name, such as Europe/Berlin.'),
  account_reference_id: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .describe('Account number of the site at the monitoring station, in quotes.'),
  security_type: z
    .literal([1, 2, 3, 4])
    .optional()
    .describe('1 beside a panel, 2 panel with own reporting, 3 siteward decides alone, 4 siteward only watches.'),
});

export const bridgeOptions = z.strictObject({
  external_id: externalId.describe('Id of this bridge, unique within the site; it stays when the box is replaced.'),
  role: z
    .enum(['primary', 'individual'])
    .default('primary')
    .describe('primary speaks for the site; individual is a further bridge of it.'),
});

export const partitionOptions = z.strictObject({
  id: partitionId.describe('p1, p2, ...'),
  name: name.describe('Name of the partition for people.'),
  exit_delay: duration({ min: '0s', max: '255s' }).default(60_000).describe('Time to leave after arming.'),
  entry_delay: duration({ min: '0s', max: '240s' }).default(30_000).describe('Time to disarm after coming in.'),
});

export const userOptions = z.strictObject({
  id: z
    .string()
    .regex(/^[a-z0-9][a-z0-9_-]{0,31}$/, 'must be 1 to 32 lower-case letters, digits, _ or -')
    .describe('Short id of the user; it appears in events.'),
  name: name.describe('Name for people; it stays on this box.'),
  code: secretRef.describe('Where the code of 4 to 12 digits lies.'),
  duress_code: secretRef.optional().describe('Where the code lies that disarms and calls for help silently.'),
});

export const armingOptions = z.strictObject({
  disarm_code: z.enum(['required', 'optional']).default('required').describe('Whether disarming needs a code.'),
  confirm_timeout: duration({ min: '1s', max: '120s' })
    .default(10_000)
    .describe('How long a panel may take to confirm a command.'),
  restores_to_station: z
    .boolean()
    .default(false)
    .describe('Whether the end of an alarm is signalled to the station too.'),
});

export const logOptions = z.strictObject({
  level: z
    .enum(['error', 'warn', 'info', 'debug', 'trace'])
    .default('info')
    .describe('How much is logged: error, warn, info, debug or trace.'),
});

/** A section a later version brings: it may stand there empty. */
export const notYet = () =>
  z
    .array(z.unknown())
    .max(0, `is not available in version ${version}`)
    .default([])
    .describe('Not available in this version; leave it empty.');
