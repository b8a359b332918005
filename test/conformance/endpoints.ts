import type { Method } from './http.ts';

type Endpoint = readonly [Method, string];

const uuid = '00000000-0000-4000-8000-000000000000';

/** Below one dealer, by hand from sections 4.2 to 4.9; `path` is that of the dealer. */
export const dealerEndpoints = (path: string, siteId: number | string = 1): readonly Endpoint[] => {
  const site = `${path}/sites/${siteId}`;
  return [
    ['PUT', `${path}/disconnect`],
    ['GET', path],
    ['PUT', path],
    ['POST', `${path}/sites`],
    ['GET', `${path}/sites`],
    ...siteEndpoints(site),
    ['POST', `${path}/monitoring-stations`],
    ['GET', `${path}/monitoring-stations`],
    ['GET', `${path}/monitoring-stations/1`],
    ['PUT', `${path}/monitoring-stations/1`],
    ['DELETE', `${path}/monitoring-stations/1`],
  ];
};

/** Below one site, and the site itself. */
export const siteEndpoints = (site: string): readonly Endpoint[] => [
  ['GET', site],
  ['PUT', site],
  ['DELETE', site],
  ['PATCH', `${site}/activation-status`],
  ['PATCH', `${site}/link`],
  ['PATCH', `${site}/unlink`],
  ['PUT', `${site}/monitoring-bindings`],
  ['POST', `${site}/contacts`],
  ['GET', `${site}/contacts`],
  ['GET', `${site}/contacts/1`],
  ['PUT', `${site}/contacts/1`],
  ['DELETE', `${site}/contacts/1`],
  ['POST', `${site}/devices`],
  ['GET', `${site}/devices`],
  ['GET', `${site}/devices/1`],
  ['PUT', `${site}/devices`],
  ['POST', `${site}/devices/bulk-delete`],
  ['GET', `${site}/arming-settings`],
  ['PATCH', `${site}/arming-settings`],
  ['GET', `${site}/arming-status`],
  ['PUT', `${site}/arming-status`],
  ['POST', `${site}/nvrs`],
  ['PATCH', `${site}/nvrs/1`],
  ['POST', `${site}/nvrs/1/devices`],
  ['GET', `${site}/activity-logs`],
  ['PATCH', `${site}/alarm-verifications/${uuid}`],
  ['POST', `${site}/alarm-verifications/${uuid}/response`],
];

/** All of the partner interface but the events. */
export const partnerEndpoints = (dealerPath: string): readonly Endpoint[] => [
  ['PUT', '/partner/v1/dealers/connect'],
  ...dealerEndpoints(dealerPath),
];
