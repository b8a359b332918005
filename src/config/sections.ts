import { z } from 'zod';
import { duration } from '#lib/duration.ts';
import { secretRef } from '#lib/secret-ref.ts';
import { partitionId, shortId, zoneNumber } from '#site/model/index.ts';

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
  language: z
    .string()
    .regex(/^[a-z]{2}-[A-Z]{2}$/, 'must be a language tag such as de-DE')
    .optional()
    .describe('Language spoken at the site, such as de-DE, for messages asked for without one; en-US unless set.'),
  account_reference_id: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .describe('Account number of the site at the monitoring station, in quotes.'),
  security_type: z
    .literal([1, 2, 3, 4])
    .optional()
    .describe(
      '1 beside a panel, 2 panel with own reporting, 3 siteward decides alone, 4 another system decides: siteward only watches, and every burglary signal goes to the station.',
    ),
});

export const bridgeOptions = z.strictObject({
  external_id: externalId.describe('Id of this bridge, unique within the site; it stays when the box is replaced.'),
  role: z
    .enum(['primary', 'individual'])
    .default('primary')
    .describe('primary speaks for the site; individual is a further bridge of it.'),
});

/** Entry delay and abort window together; milliseconds. */
const entryAndAbortMs = 60_000;

export const partitionOptions = z
  .strictObject({
    id: partitionId.describe('p1, p2, ...'),
    name: name.describe('Name of the partition for people.'),
    cloud_id: z
      .string()
      .min(1)
      .max(255)
      .optional()
      .describe('Id of the partition at the service, by which the paths of the service on the LAN know it, too.'),
    exit_delay: duration({ min: '0s', max: '255s' }).default(60_000).describe('Time to leave after arming.'),
    entry_delay: duration({ min: '0s', max: '240s' }).default(30_000).describe('Time to disarm after coming in.'),
    abort_delay: duration({ min: '0s', max: '45s' })
      .refine((ms) => ms === 0 || ms >= 15_000, 'must be 0s for none, or 15s to 45s')
      .prefault('0s')
      .describe('How long a burglary alarm sounds before the station is told; a disarm meanwhile stops that.'),
    cancel_window: duration({ min: '5m', max: '24h' })
      .default(300_000)
      .describe('How long after an alarm a disarm also takes it back at the station.'),
    confirmation: z
      .strictObject({
        window: duration({ min: '30m', max: '60m' }).describe('Time from the first detector to the second.'),
      })
      .optional()
      .describe('Sequential confirmation: a second detector confirms the alarm of the first.'),
    exit_restart: z
      .boolean()
      .default(true)
      .describe('Whether coming back through the exit door begins the exit delay anew, once.'),
    auto_stay: z
      .boolean()
      .default(false)
      .describe('Whether arming away arms home when nobody has left through an exit door.'),
  })
  .refine(({ entry_delay, abort_delay }) => abort_delay === 0 || entry_delay + abort_delay <= entryAndAbortMs, {
    path: ['abort_delay'],
    error: 'is longer than 60s together with entry_delay; make one of them shorter',
  });

/** Burglary zones of which both must trip before the station is called. */
export const crossZonesOptions = z.strictObject({
  zones: z
    .tuple([zoneNumber, zoneNumber])
    .describe('Two zones of one partition, such as ["2", "3"]; not of entry doors, and not 24-hour zones.'),
  window: duration({ min: '30s', max: '300s' }).default(60_000).describe('Time within which both must trip.'),
});

export const userOptions = z.strictObject({
  id: shortId.describe('Short id of the user; it appears in events.'),
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
  swinger_trips: z
    .int()
    .min(0)
    .max(10)
    .default(2)
    .describe('After so many alarms a zone is shut until the disarm or for 48 hours; 0: never.'),
});

export const logOptions = z.strictObject({
  level: z
    .enum(['error', 'warn', 'info', 'debug', 'trace'])
    .default('info')
    .describe('How much is logged: error, warn, info, debug or trace.'),
});
