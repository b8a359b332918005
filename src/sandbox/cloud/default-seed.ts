import { type Seed, seedSchema } from './seed.ts';

/** What there is to try things on when nobody describes anything: a connected dealer with one site. */
export const defaultSeed = (): Seed =>
  seedSchema.parse({
    dealers: [
      {
        external_dealer_id: 'acme',
        company_name: 'Acme Security',
        company_email: 'office@acme.example',
        monitoring_stations: [{ external_monitoring_station_id: 'central', name: 'Central station', prefix: 'AC' }],
        sites: [
          {
            external_site_id: 'hq',
            name: 'Head office',
            timezone: 'Europe/Berlin',
            external_monitoring_station_id: 'central',
            account_number: '0815',
            address1: '1 Harbour Street',
            partitions: [{ partition_id: '1' }],
            contacts: [
              {
                external_contact_id: 'keyholder',
                first_name: 'Ada',
                last_name: 'Byron',
                phone_number: '+49 30 5550100',
                email: 'ada@acme.example',
              },
            ],
            devices: [
              { external_device_id: 'sw-1', device_type: 'bridge', zone_number: '1', name: 'Bridge' },
              { external_device_id: 'yard', device_type: 'camera', zone_number: '21', name: 'Yard' },
              { external_device_id: 'door', device_type: 'camera', zone_number: '22', name: 'Front door' },
            ],
          },
        ],
      },
    ],
  });
