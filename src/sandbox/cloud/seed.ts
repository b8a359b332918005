import { z } from 'zod';
import {
  armingStates,
  audioMessage,
  contactCreate,
  deviceCreate,
  monitoringStationCreate,
  nvrCreate,
  serverDialectOptions,
  siteCreate,
} from '#cloud/contract/index.ts';

// A described set of dealers, sites and devices. Members nobody knows are refused: most often they are misspelt.

/** Fifteen digits leave room above for the ids the service gives next: beyond 2^53 two of them would be one. */
const maxId = 999_999_999_999_999;
const id = () => z.int().min(1).max(maxId).optional().describe('Id of the service; the next free one when absent.');
const text = (max = 4096) => z.string().max(max);
const list = <S extends z.ZodType>(item: S, max: number) => z.array(item).max(max).default([]);

const seedNvr = nvrCreate.extend({ nvr_id: id(), external_device_ids: list(z.string(), 500) }).strict();

const seedPartition = z.strictObject({
  partition_id: z.string().min(1).max(255),
  status: z.enum(armingStates).default('disarmed'),
  bypassed_zones: list(z.string().min(1).max(255), 500),
});

const seedSite = siteCreate
  .omit({ monitoring_station_id: true })
  .extend({
    site_id: id(),
    external_monitoring_station_id: z.string().optional().describe('One of the dealer stations above.'),
    is_activated: z.literal([0, 1]).default(0),
    linked: z.boolean().default(false),
    security_type: z.int().min(1).max(4).optional(),
    partitions: list(seedPartition, 100).describe('One of its own, disarmed, when there is none.'),
    contacts: list(contactCreate.extend({ contact_id: id() }).strict(), 1000),
    devices: list(
      deviceCreate.extend({ device_id: id(), registered_by_partner: text(64).default('platform') }).strict(),
      2000,
    ),
    nvrs: list(seedNvr, 100),
    audio_messages: z.array(audioMessage.strict()).max(200).optional().describe('The usual ones when absent.'),
  })
  .strict();
export type SeedSite = z.output<typeof seedSite>;

export const seedDealer = z.strictObject({
  dealer_id: id(),
  external_dealer_id: z.string().min(1).max(4096).optional(),
  connected: z.boolean().optional().describe('Whether it is connected; true when it has an external id.'),
  company_name: text(255).optional(),
  company_address1: text(255).optional(),
  company_address2: text(255).optional(),
  company_email: text().optional(),
  company_phone_number: text().optional(),
  monitoring_stations: list(monitoringStationCreate.extend({ monitoring_station_id: id() }).strict(), 1000),
  sites: list(seedSite, 10_000),
});
export type SeedDealer = z.output<typeof seedDealer>;

const seedClient = z.strictObject({
  client_id: z.string().min(1).max(255),
  public_key_pem: text().optional(),
  kid: text(255).optional(),
  client_secret: z.string().min(1).max(1024).optional(),
  may_ingest: z.boolean().optional(),
  dealers: z.array(z.int().min(1)).max(1000).optional().describe('Every connected dealer when absent.'),
});

/** What `siteward sandbox --seed FILE` reads. */
export const seedSchema = z.strictObject({
  clients: list(seedClient, 1000),
  dealers: list(seedDealer, 1000),
  dialect: serverDialectOptions.partial().default({}),
});
export type Seed = z.output<typeof seedSchema>;
