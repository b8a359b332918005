import { done, results } from './answers.ts';
import type { Loose } from './http.ts';
import { type Service, unique } from './server.ts';

export interface Dealer {
  readonly id: number;
  readonly path: string;
  /** A partner token that reaches it. */
  readonly token: string;
}

export interface Site extends Dealer {
  readonly dealer: Dealer;
  readonly externalId: string;
}

const partner = '/partner/v1';

/** A dealer as the control path makes it; connected unless said otherwise. */
export async function makeDealer(service: Service, options: { connected?: boolean } = {}): Promise<number> {
  const connected = options.connected ?? true;
  const { dealer_id } = await service.control('POST', '/dealers', {
    company_name: unique('Dealer'),
    connected,
    ...(connected ? { external_dealer_id: unique('dealer') } : {}),
  });
  return Number(dealer_id);
}

/** A connected dealer with a token for it: a new one, or the one that was given. */
export async function aDealer(service: Service): Promise<Dealer> {
  const { control, given } = service.target();
  if (control) {
    const id = await makeDealer(service);
    return { id, path: `${partner}/dealers/${id}`, token: await service.token('partner', { dealers: [id] }) };
  }
  const id = service.need(given.dealer, 'needs a control path or --dealer and --partner-token-env');
  return { id: Number(id), path: `${partner}/dealers/${id}`, token: await service.token('partner') };
}

export const siteBody = (members: object = {}) => ({
  external_site_id: unique('site'),
  name: 'Head office',
  timezone: 'Europe/Berlin',
  ...members,
});

/** A new site of a dealer. */
export async function aSite(service: Service, options: { dealer?: Dealer; body?: object } = {}): Promise<Site> {
  const dealer = options.dealer ?? (await aDealer(service));
  const body = siteBody(options.body);
  const site = done(await service.call('POST', `${dealer.path}/sites`, { token: dealer.token, json: body }), 201);
  const id = Number(site.site_id);
  return { id, dealer, token: dealer.token, path: `${dealer.path}/sites/${id}`, externalId: body.external_site_id };
}

export async function aStation(service: Service, dealer: Dealer, members: object = {}): Promise<Loose> {
  const json = { external_monitoring_station_id: unique('station'), name: 'Central', ...members };
  return done(await service.call('POST', `${dealer.path}/monitoring-stations`, { token: dealer.token, json }), 201);
}

export async function aContact(service: Service, site: Site, members: object = {}): Promise<Loose> {
  const json = { external_contact_id: unique('contact'), first_name: 'Ada', last_name: 'Byron', ...members };
  return done(await service.call('POST', `${site.path}/contacts`, { token: site.token, json }), 201);
}

export const deviceBody = (members: object = {}) => ({
  external_device_id: unique('device'),
  device_type: 'camera',
  zone_number: '1',
  ...members,
});

/** New devices, all of which must succeed; returns their records. */
export async function someDevices(service: Service, site: Site, bodies: readonly object[]): Promise<readonly Loose[]> {
  const answer = await service.call('POST', `${site.path}/devices`, { token: site.token, json: bodies });
  return results(answer, 201).map((entry) => {
    if (entry.res === undefined) throw new Error(`a device was refused: ${answer.text}`);
    return entry.res;
  });
}

export async function aDevice(service: Service, site: Site, members: object = {}): Promise<Loose> {
  const [device] = await someDevices(service, site, [deviceBody(members)]);
  return device ?? {};
}

export async function aNvr(service: Service, site: Site, members: object = {}): Promise<Loose> {
  const json = { external_nvr_id: unique('nvr'), name: 'Recorder', ...members };
  return done(await service.call('POST', `${site.path}/nvrs`, { token: site.token, json }), 201);
}

/** A verification of a site and its contact, through the control path. */
export async function aVerification(
  service: Service,
  site: Site,
  contact: Loose,
  expires_in = 300,
): Promise<{ id: string; path: string }> {
  const { verification_id } = await service.control('POST', '/verifications', {
    dealer_id: site.dealer.id,
    site_id: site.id,
    contact_id: Number(contact.contact_id),
    expires_in,
  });
  const id = String(verification_id);
  return { id, path: `${site.path}/alarm-verifications/${id}` };
}

export const nowText = (offsetMs = 0): string => new Date(Date.now() + offsetMs).toISOString();

/** An event with all fourteen fields (S-160). */
export const eventBody = (members: object = {}) => ({
  version: '1.0',
  location_id: 'hq',
  recorder_id: 'recorder-1',
  camera_id: 'yard',
  event_id: unique('event'),
  event_type: 'alarm',
  event_status: 'active',
  event_time: nowText(-2000),
  sent_at: nowText(),
  should_signal_to_monitoring_center: true,
  upload_snapshot_count: 0,
  upload_short_mp4: false,
  upload_event_mp4: false,
  payload: { zone: '1' },
  ...members,
});
