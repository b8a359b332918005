import { control, type Service, send } from './service.ts';

/** Calls of one dealer's interfaces, raw. */
export interface Place {
  readonly dealer: string;
  readonly site: string;
  call(method: string, path: string, body?: unknown, token?: string): ReturnType<typeof send>;
  readonly partner: string;
  readonly apiKey: string;
}

/** A connected dealer with a site (a bridge, a camera, a contact) made through the control path, and tokens for it. */
export async function place(service: Service, more: Record<string, unknown> = {}): Promise<Place> {
  const made = await control(service, 'POST', 'dealers', {
    connected: true,
    sites: [
      {
        ...{ external_site_id: 'hq', name: 'Head office', timezone: 'Europe/Berlin', account_number: '0815' },
        contacts: [{ external_contact_id: 'k', first_name: 'Ada', last_name: 'Byron' }],
        devices: [
          { external_device_id: 'b', device_type: 'bridge', zone_number: '1', name: 'Bridge' },
          { external_device_id: 'c', device_type: 'camera', zone_number: '2', name: 'Yard' },
        ],
      },
    ],
    ...more,
  });
  if (made.status !== 200) throw new Error(made.text);
  const id = made.json.dealer_id;
  const dealer = `/partner/v1/dealers/${id}`;
  const sites = (await control(service, 'GET', 'sites')).json.sites;
  const partner = await tokenFor(service, 'partner', id);
  return {
    dealer,
    site: `${dealer}/sites/${sites.find((site: { dealer_id: number }) => site.dealer_id === id)?.site_id}`,
    partner,
    apiKey: await tokenFor(service, 'api_key', id),
    call: (method, path, body, token = partner) =>
      send(service.cloud.url + path, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
  };
}

export async function tokenFor(service: Service, kind: string, dealer: number): Promise<string> {
  return (await control(service, 'POST', 'tokens', { kind, dealers: [dealer] })).json.token;
}
