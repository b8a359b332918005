import { lookup } from 'node:dns/promises';
import { BlockList, isIP } from 'node:net';
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os';
import type { Settings } from '#config/index.ts';
import { SitewardError } from '#errors.ts';
import { isPublic } from '#lan/http/index.ts';
import { hostAndPort } from '#lib/host.ts';
import { withDeadline } from '#lib/wait.ts';

const lookupMs = 5000;

/** Where machines of a cloud find what they may do. */
const keyServers = new BlockList();
keyServers.addAddress('169.254.169.254', 'ipv4');
keyServers.addAddress('fd00:ec2::254', 'ipv6');

/**
 * Lets through what lies in the own networks and is not siteward itself: whoever may have the bridge ask a device must not
 * have it knock at the Internet, nor at what it serves, nor at where a cloud tells machines their keys. Gives the addresses back: a
 * name may mean another one when it is looked up again. Throws `request_invalid` with `field`, and `camera_unreachable` for
 * a name that nobody knows.
 */
export async function mustBeNear(
  { host, port }: { readonly host: string; readonly port: number | undefined },
  options: {
    readonly settings: Settings;
    readonly field: string;
    readonly signal: AbortSignal;
    /** For tests. */
    readonly interfaces?: NodeJS.Dict<NetworkInterfaceInfo[]>;
  },
): Promise<readonly string[]> {
  const { settings, field, signal, interfaces = networkInterfaces() } = options;
  const refused = (message: string) => new SitewardError('request_invalid', message, { facts: { field } });
  const own = ownAddresses(interfaces);
  const addresses = await addressesOf(host, signal);
  for (const address of addresses) {
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    if (isPublic(address) && !own.networks.check(address, family))
      throw refused('only devices in the networks of this box are asked; this address is in none of them');
    if (keyServers.check(address, family)) throw refused('no camera has this address: clouds keep their keys there');
    if (port !== undefined && own.addresses.check(address, family) && portsOf(settings).has(port))
      throw refused('siteward itself listens at this address');
  }
  return addresses;
}

async function addressesOf(host: string, signal: AbortSignal): Promise<readonly string[]> {
  const plain = host.replace(/%.*$/, '');
  if (isIP(plain) !== 0) return [plain];
  try {
    const all = await withDeadline(lookupMs, signal, () => lookup(host, { all: true }), 'asking for the address');
    return all.map(({ address }) => address);
  } catch (cause) {
    signal.throwIfAborted();
    throw new SitewardError('camera_unreachable', 'nobody knows the address of this name: give the IP address', {
      cause,
    });
  }
}

function ownAddresses(interfaces: NodeJS.Dict<NetworkInterfaceInfo[]>) {
  const [addresses, networks] = [new BlockList(), new BlockList()];
  addresses.addSubnet('127.0.0.0', 8, 'ipv4');
  addresses.addAddress('::1', 'ipv6');
  for (const { address, cidr } of Object.values(interfaces).flatMap((some) => some ?? [])) {
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    addresses.addAddress(address, family);
    const bits = Number(cidr?.split('/')[1]);
    if (Number.isInteger(bits)) networks.addSubnet(address, bits, family);
  }
  return { addresses, networks };
}

/** Ports at which siteward and the broker listen, as far as they are on this machine. */
function portsOf({ http, mqtt, dc09 }: Settings): ReadonlySet<number> {
  const broker = mqtt.broker === 'embedded' ? mqtt.listen : mqtt.broker;
  return new Set(
    [http.listen, broker, dc09?.listen].flatMap((place) => (place === undefined ? [] : [hostAndPort(place).port])),
  );
}
