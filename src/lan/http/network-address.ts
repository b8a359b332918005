import { BlockList, isIP } from 'node:net';
import { withoutMapping } from '#lib/host.ts';

/** Where a connection comes from, by the connection alone: what a header says of it anybody can write. */
export function addressOf({ remoteAddress = '' }: { readonly remoteAddress?: string | undefined }): string {
  // A socket of both families shows IPv4 in IPv6; a zone is this machine's own name for a link.
  return withoutMapping(remoteAddress).replace(/%.*$/, '');
}

/** Loopback, private (RFC 1918, RFC 4193), link-local (RFC 3927, RFC 4291) and carrier-grade NAT (RFC 6598), where overlay networks live. */
const near = new BlockList();
for (const [net, bits] of [
  ['127.0.0.0', 8],
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['169.254.0.0', 16],
  ['100.64.0.0', 10],
] as const)
  near.addSubnet(net, bits, 'ipv4');
for (const [net, bits] of [
  ['::1', 128],
  ['fc00::', 7],
  ['fe80::', 10],
] as const)
  near.addSubnet(net, bits, 'ipv6');

/** Whether an address is reached over the Internet; one that cannot be read counts as such. */
export function isPublic(address: string): boolean {
  const family = isIP(address);
  return family === 0 || !near.check(address, family === 6 ? 'ipv6' : 'ipv4');
}
