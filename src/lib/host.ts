/** A host as the socket calls take it: an IPv6 address without the brackets it has in a URL. */
export const bareHost = (host: string): string => host.replace(/^\[|\]$/g, '');

/** Both parts of `HOST:PORT`, such as `0.0.0.0:8443` or `[::1]:1883`; the host without brackets. */
export function hostAndPort(listen: string): { readonly host: string; readonly port: number } {
  const colon = listen.lastIndexOf(':');
  return { host: bareHost(listen.slice(0, colon)), port: Number(listen.slice(colon + 1)) };
}

/** An address of this machine alone: 127.0.0.0/8, `::1`, the first mapped into IPv6, and the name `localhost`. */
export function isLoopback(host: string): boolean {
  const bare = bareHost(host);
  return bare === 'localhost' || bare === '::1' || /^(::ffff:)?127(\.\d{1,3}){3}$/i.test(bare);
}

/** Whoever comes over IPv4 to a socket of both families is shown in the clothes of IPv6: this is the address itself. */
export const withoutMapping = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, '');
