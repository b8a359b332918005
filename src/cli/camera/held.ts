import { heldAt } from '#box/known-cameras.ts';
import { SitewardError } from '#errors.ts';
import { formatSpan } from '../table.ts';
import { camerasOrWhy } from './entries.ts';

/**
 * Two tries beside those of the daemon may be the ones that lock the account. Throws `camera_auth` while it rests from a
 * refusal of this device, by whichever id or address that is named.
 */
export async function mayTry(url: string, socket: string): Promise<void> {
  const cameras = await camerasOrWhy(socket);
  // Without a daemon nobody else tries.
  const held = typeof cameras === 'string' ? undefined : heldAt(cameras, url);
  if (held === undefined) return;
  throw new SitewardError(
    'camera_auth',
    `${held.id} refused the password, and the daemon tries none for another ${formatSpan(held.heldS)}: more tries may lock the account. Be sure of the password: "siteward camera replace --anyway" takes another one at once; "test --anyway" tries one all the same`,
    { facts: { retryInS: held.heldS } },
  );
}
