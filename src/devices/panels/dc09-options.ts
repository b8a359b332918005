import { BlockList, isIP } from 'node:net';
import { z } from 'zod';
import { duration } from '#lib/duration.ts';
import { withoutMapping } from '#lib/host.ts';
import { listenAddress } from '#lib/listen-address.ts';
import { secretRef } from '#lib/secret-ref.ts';

/** The profile of panels that speak SIA DC-09 to siteward themselves; it is read by the receiver, not over MQTT. */
export const dc09Profile = 'sia-dc09';

/** The `dc09:` section: where panels with an IP communicator reach siteward. */
export const dc09Options = z.strictObject({
  listen: listenAddress('0.0.0.0:5010').describe(
    'Where the receiver listens, such as 0.0.0.0:5010; the panel gets this port as that of its receiver.',
  ),
  transports: z
    .array(z.enum(['tcp', 'udp']))
    .min(1)
    .max(2)
    .default(['tcp', 'udp'])
    .describe('How panels may call: tcp, udp or both.'),
});

/** The `dc09:` part of a panel's entry. */
export const dc09PanelOptions = z.strictObject({
  account: z
    .string()
    .regex(/^[0-9A-Za-z]{1,16}$/, 'must be 1 to 16 digits or letters')
    .describe('Account number the panel sends, as set in the panel, in quotes.'),
  key: secretRef
    .optional()
    .describe(
      'Where the AES key lies, 16, 24 or 32 characters or that many bytes in hex; frames in clear are then refused.',
    ),
  supervised: duration({ min: '30s', max: '72h' })
    .prefault('25h')
    .describe(
      "The panel's link counts as lost when nothing came for so long: a little more than the interval of its link test.",
    ),
  clock: z
    .enum(['utc', 'local', 'ignored'])
    .default('utc')
    .describe(
      'What time the panel writes: utc as the standard asks, local time of the site, or one not to be looked at.',
    ),
  part_arming: z
    .enum(['closing', 'opening'])
    .default('closing')
    .describe(
      'Whether Contact ID 441 and 456 arm a part when they are a closing (3) or, as some makers send it, an opening (1).',
    ),
  from: z
    .array(z.string().refine(isAddress, 'must be an IP address, or a network such as 192.168.1.0/24'))
    .min(1)
    .max(16)
    .optional()
    .describe('Addresses the panel may call from; any when left out.'),
});

export type Dc09Options = z.infer<typeof dc09Options>;
export type Dc09PanelOptions = z.infer<typeof dc09PanelOptions>;

function isAddress(text: string): boolean {
  const [address = '', bits, more] = text.split('/');
  const family = isIP(address);
  if (family === 0 || more !== undefined) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
}

/** Whether an address may call. IPv4 that came over an IPv6 socket is IPv4. */
export function addressFilter(from: readonly string[] | undefined): (address: string) => boolean {
  if (from === undefined) return () => true;
  const list = new BlockList();
  for (const text of from) {
    const [address = '', bits] = text.split('/');
    const family = isIP(address) === 4 ? 'ipv4' : 'ipv6';
    list.addSubnet(address, bits === undefined ? (family === 'ipv4' ? 32 : 128) : Number(bits), family);
  }
  return (caller) => {
    const address = withoutMapping(caller);
    const family = isIP(address);
    return family !== 0 && list.check(address, family === 4 ? 'ipv4' : 'ipv6');
  };
}
