/** A host as the socket calls take it: an IPv6 address without the brackets it has in a URL. */
export const bareHost = (host: string): string => host.replace(/^\[|\]$/g, '');

/** Both parts of `HOST:PORT`, such as `0.0.0.0:8443` or `[::1]:1883`; the host without brackets. */
export function hostAndPort(listen: string): { readonly host: string; readonly port: number } {
  const colon = listen.lastIndexOf(':');
  return { host: bareHost(listen.slice(0, colon)), port: Number(listen.slice(colon + 1)) };
}
