import { randomUUID } from 'node:crypto';
import type { z } from 'zod';
import type { Call, Handlers, Reply } from '#lib/contract/server.ts';
import { badField } from '../access.ts';
import { loadDealer } from '../load-seed.ts';
import type { Caller } from '../resource.ts';
import type { CloudState } from '../state.ts';
import { anyClient } from '../tokens.ts';
import { dealerOf, siteOf } from '../world/answers.ts';
import { statusAt } from '../world/audio.ts';
import type { DealerRow, PlaybackRow } from '../world/rows.ts';
import type * as operations from './operations.ts';
import type { clientRequest, tokenRequest } from './records.ts';

type WorldOperations = Pick<
  typeof operations,
  | 'createToken'
  | 'createClient'
  | 'createDealer'
  | 'listSites'
  | 'createVerification'
  | 'listVerifications'
  | 'listPlaybacks'
>;

/** The part of the control path that makes tokens, clients, dealers and verifications, and shows what stays inside. */
export function worldHandlers(state: CloudState): Handlers<WorldOperations, Caller> {
  const { world } = state;
  return {
    createToken: ({ body }) => issueToken(state, body),
    createClient: ({ body }) => addClient(state, body),
    createDealer: ({ body }) => {
      const before = world.snapshot();
      try {
        const securityType = state.dialect.security_type;
        const dealer = loadDealer(world, body, '', { at: state.time(), securityType });
        return ok({ ...dealerOf(dealer), connected: dealer.external_dealer_id !== null });
      } catch (error) {
        world.restore(before);
        throw error;
      }
    },
    listSites: () =>
      ok({
        sites: world.sites.all().map((row) => ({
          ...siteOf(world, row, state.dialect.site_time_style),
          dealer_id: row.dealer_id,
          linked: row.linked,
          partitions: world.partitions.of(row.site_id).map(({ partition_id }) => partition_id),
        })),
      }),
    createVerification: ({ body }) => openVerification(state, body),
    listVerifications: () => ok({ verifications: world.verifications.all() }),
    listPlaybacks: () => ok({ playbacks: world.playbacks.all().map((row) => shown(state, row)) }),
  };
}

const ok = (body: object): Reply => ({ status: 200, body });

function issueToken(state: CloudState, request: z.output<typeof tokenRequest>): Reply {
  const { kind, dealers, client_id, expires_in, may_ingest } = request;
  if (kind === 'user' && dealers?.length !== 1) return badField('dealers', 'must hold one dealer for a user token');
  const known = client_id === undefined ? undefined : state.clients.get(client_id);
  if (client_id !== undefined && known === undefined) return badField('client_id', 'is no registered client');
  const mayIngest = kind === 'event' && may_ingest && known?.mayIngest !== false;
  const grant = { capability: kind, clientId: client_id ?? anyClient, mayIngest, dealers };
  return ok({ token: state.tokens.issue(grant, state.now(), expires_in) });
}

function addClient(state: CloudState, body: z.output<typeof clientRequest>): Reply {
  const { client_id, public_key_pem, kid, client_secret, may_ingest, dealers } = body;
  state.clients.add({
    clientId: client_id,
    ...(public_key_pem !== undefined && { publicKeyPem: public_key_pem }),
    ...(kid !== undefined && { kid }),
    ...(client_secret !== undefined && { clientSecret: client_secret }),
    ...(may_ingest !== undefined && { mayIngest: may_ingest }),
    ...(dealers !== undefined && { dealers }),
  });
  const client = state.clients.get(client_id);
  const reach = client?.dealers === undefined ? {} : { dealers: client.dealers };
  return ok({ client_id, ...reach, may_ingest: client?.mayIngest ?? true });
}

type VerificationCall = Call<typeof operations.createVerification, Caller>;

/** S-156: nowhere else do verifications come from. */
function openVerification(state: CloudState, body: VerificationCall['body']): Reply {
  const { world, dialect } = state;
  const { dealer_id, site_id, contact_id, expires_in = dialect.verification_life_s } = body;
  const dealer: DealerRow | undefined = world.dealers.get(dealer_id);
  if (dealer === undefined) return badField('dealer_id', 'is no dealer');
  if (world.sites.get(site_id)?.dealer_id !== dealer_id) return badField('site_id', 'is no site of this dealer');
  if (world.contacts.get(contact_id)?.site_id !== site_id) return badField('contact_id', 'is no contact of this site');
  const verification_id = randomUUID();
  const expires_at = new Date(state.now() + expires_in * 1000).toISOString();
  world.verifications.put({ verification_id, site_id, contact_id, expires_at, answer: null });
  const description = `verification ${verification_id} requested from contact ${contact_id}`;
  world.note(site_id, { type: 'alarm_verification_requested', description, at: state.time() });
  return ok({ verification_id });
}

function shown(state: CloudState, { device_ids, ...playback }: PlaybackRow): object {
  const status = statusAt({ ...playback, device_ids }, state.now());
  const devices = device_ids.map((device_id) => {
    const device = state.world.devices.get(Number(device_id));
    return { device_id, name: device?.name ?? '', status: device === undefined ? 'failed' : status };
  });
  return { ...playback, status, devices };
}
