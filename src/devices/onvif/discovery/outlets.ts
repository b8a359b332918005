import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os';

/** One way out for a question to everybody: an IPv4 address of an interface, or an interface with IPv6. */
export interface Outlet {
  readonly name: string;
  readonly family: 'IPv4' | 'IPv6';
  /** IPv4: the interface's own address. IPv6: `::%eth0`. */
  readonly address: string;
}

const maxOutlets = 64;

/** The ways out of this machine, loopback only where it is named; empty for an interface that is not there or has no address. */
export function outlets(
  only?: string,
  all: NodeJS.Dict<NetworkInterfaceInfo[]> = networkInterfaces(),
): readonly Outlet[] {
  const found: Outlet[] = [];
  for (const [name, addresses = []] of Object.entries(all)) {
    if (only !== undefined && name !== only) continue;
    const usable = addresses.filter(({ internal }) => !internal || name === only);
    for (const { family, address } of usable) if (family === 'IPv4') found.push({ name, family, address });
    if (usable.some(({ family }) => family === 'IPv6')) found.push({ name, family: 'IPv6', address: `::%${name}` });
  }
  return found.slice(0, maxOutlets);
}

export const interfaceNames = (): readonly string[] => Object.keys(networkInterfaces());
