import { z } from 'zod';
import { alarmVerification, dealer, mediaKinds, playback, site } from '#cloud/contract/index.ts';
import { faultSpec } from '../faults.ts';
import { seedDealer } from '../seed.ts';

/** Bodies of the control path. Times are ISO 8601 by the service's clock. */
const time = () => z.string();
const many = () => z.int().min(0);

export const eventsAnswer = z.object({
  events: z.array(
    z.object({
      event_id: z.string(),
      client_id: z.string(),
      seq: z.int().min(1).describe('Order of acceptance, from 1.'),
      received_at: time(),
      arrived_at: time().describe(
        'When its first try came in, before any planted delay, by the clock of the machine, which `clock` does not move.',
      ),
      body: z.record(z.string(), z.unknown()).describe('The event as it came first.'),
      try_count: z.int().min(1),
      tries: z.array(z.object({ at: time(), sent_at: z.string(), identical: z.boolean() })),
      identical: z.boolean().describe('Whether every try was the same apart from sent_at.'),
    }),
  ),
  dropped: many().describe('How many gave way to newer ones.'),
});

export const uploadsAnswer = z.object({
  uploads: z.array(
    z.object({
      id: z.string(),
      event_id: z.string(),
      client_id: z.string(),
      kind: z.enum(mediaKinds),
      index: many(),
      media_type: z.string(),
      bytes: many(),
      sha256: z.string(),
      authorization_sent: z.boolean().describe('Whether it carried a bearer that does not belong there.'),
      received_at: time(),
      put_count: z.int().min(1),
    }),
  ),
  dropped: many(),
});

export const logAnswer = z.object({
  log: z.array(
    z.object({
      at: time(),
      requestId: z.string(),
      method: z.string(),
      path: z.string(),
      status: z.int().nullable().describe('Null when no answer was sent.'),
      ms: z.number(),
      client: z.string().optional(),
      traceId: z.string().optional(),
      fault: z.string().optional(),
      note: z.string().optional(),
    }),
  ),
});

export const faultsAnswer = z.object({
  faults: z.array(faultSpec.extend({ left: z.int().describe('-1: until it is removed.'), met: many() })),
});

export const clockChange = z.strictObject({ offset_s: z.number().min(-1e9).max(1e9) });
export const clockAnswer = z.object({ offset_s: z.number(), now: time() });

const dealerIds = z.array(z.int().min(1)).max(1000);

export const tokenRequest = z.strictObject({
  kind: z.enum(['partner', 'user', 'event', 'api_key']),
  dealers: dealerIds
    .optional()
    .describe('Dealers it reaches: for partner tokens while they are connected; exactly one for a user token.'),
  client_id: z.string().min(1).max(255).optional().describe('Whose token it is; the one partner there is when absent.'),
  expires_in: z.number().min(-1e9).max(1e9).default(3600).describe('Seconds; negative: it has expired already.'),
  may_ingest: z.boolean().default(true).describe('For event tokens.'),
});

export const clientRequest = z.strictObject({
  client_id: z.string().min(1).max(255),
  public_key_pem: z.string().max(16_384).optional(),
  kid: z.string().min(1).max(255).optional(),
  client_secret: z.string().min(1).max(1024).optional(),
  dealers: dealerIds.optional().describe('Dealers its partner tokens reach; every connected one when absent.'),
  may_ingest: z.boolean().optional().describe('Whether its tokens may post events; true when absent.'),
});
export const clientAnswer = z.object({ client_id: z.string(), dealers: dealerIds.optional(), may_ingest: z.boolean() });

export const verificationRequest = z.strictObject({
  dealer_id: z.int().min(1),
  site_id: z.int().min(1),
  contact_id: z.int().min(1),
  expires_in: z.number().min(-86_400).max(86_400).optional().describe('Seconds; 300 unless the dialect says else.'),
});
export const verificationAnswer = z.object({ verification_id: z.string() });

export const verificationsAnswer = z.object({
  verifications: z.array(
    z.object({
      verification_id: z.string(),
      site_id: z.int(),
      contact_id: z.int(),
      expires_at: time(),
      answer: alarmVerification.omit({ verification_id: true }).nullable(),
    }),
  ),
});

export const dealerRequest = seedDealer;
export const dealerAnswer = dealer.extend({ connected: z.boolean() });

export const sitesAnswer = z.object({
  sites: z.array(
    site.extend({
      dealer_id: z.int(),
      linked: z.boolean(),
      partitions: z.array(z.string()).describe('For the public interface.'),
    }),
  ),
});

export const playbacksAnswer = z.object({
  playbacks: z.array(playback.extend({ site_id: z.int(), ends_at: time() })),
});
