import { aDevice, aSite } from './fixtures.ts';
import { type Service, unique } from './server.ts';

/** A site as the interfaces with an API key see it. */
export interface Place {
  readonly key: string;
  /** Path of the site in the audio interface. */
  readonly audio: string;
  readonly site: string;
  readonly reference: string | undefined;
  readonly devices: readonly string[];
  readonly partition: string | undefined;
}

/** A new site with two devices, or the one that was given. */
export async function place(service: Service): Promise<Place> {
  const { control, given } = service.target();
  if (!control) {
    const site = service.need(given.site, 'needs a control path or --site and --api-key-env');
    const key = await service.token('api_key');
    const devices = given.device === undefined ? [] : [given.device];
    const { reference, partition } = given;
    return { key, site, audio: `/ext/v1/sites/${site}`, reference, devices, partition };
  }
  const reference = unique('account');
  const site = await aSite(service, { body: { account_number: reference } });
  const devices = [await aDevice(service, site), await aDevice(service, site, { zone_number: '2' })];
  return {
    key: await service.token('api_key', { dealers: [site.dealer.id] }),
    site: String(site.id),
    audio: `/ext/v1/sites/${site.id}`,
    reference,
    devices: devices.map((device) => String(device.device_id)),
    // The sandbox gives each site one partition.
    partition: `${site.id}-1`,
  };
}
