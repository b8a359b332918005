import { SitewardError } from '#errors.ts';
import { hostAndPort } from './camera-address.ts';
import { camerasOrWhy } from './camera-reload.ts';
import { formatSpan } from './table.ts';

/**
 * Two tries beside those of the daemon may be the ones that lock the account. Throws `camera_auth` while it rests from a
 * refusal of this device, by whichever id or address that is named.
 */
export async function mayTry(url: string, socket: string): Promise<void> {
  const cameras = await camerasOrWhy(socket);
  // Without a daemon nobody else tries.
  if (typeof cameras === 'string') return;
  const place = placeOf(url);
  const device = cameras.find((one) => one.login_held_s !== undefined && placeOf(one.url) === place);
  if (device?.login_held_s === undefined) return;
  throw new SitewardError(
    'camera_auth',
    `${device.id} refused the password, and the daemon tries none for another ${formatSpan(device.login_held_s)}: more tries may lock the account. Be sure of the password: "siteward camera replace --anyway" takes another one at once; "test --anyway" tries one all the same`,
    { facts: { retryInS: device.login_held_s } },
  );
}

/** http and https of one host are one device. */
const placeOf = (url: string): string => hostAndPort(url).replace(/:443$/, ':80');
