import { type FoundDevice, isOwnSerial } from '#devices/onvif/index.ts';
import type { CameraEntry } from '#lan/http/index.ts';

/** A configured device that was found under another address. */
export interface Moved {
  readonly id: string;
  /** It does not answer at the address of the configuration. */
  readonly isMissing: boolean;
}

type Identity = NonNullable<CameraEntry['identity']>;

/**
 * Which configured device one is that was found under an address nobody has: by its MAC, or by model and serial number, as
 * the daemon learned them while it watched it. Few tell their serial number to who has no password. The MAC is in their
 * scopes, in the UUID by which they name themselves, or known to this machine.
 */
export function movedFrom(
  cameras: readonly CameraEntry[],
  neighbours: ReadonlyMap<string, string>,
): (device: FoundDevice) => Moved | undefined {
  return (device) => {
    const macs = macsOf(device, neighbours);
    const same = cameras.find(
      ({ identity }) =>
        identity !== undefined && ((identity.mac !== undefined && macs.has(identity.mac)) || isSame(identity, device)),
    );
    if (same === undefined) return undefined;
    const isThere = same.reachable === true && same.serial === same.identity?.serial;
    return { id: same.id, isMissing: !isThere };
  };
}

function macsOf({ mac, endpoint, addresses }: FoundDevice, neighbours: ReadonlyMap<string, string>): Set<string> {
  const [, node = ''] =
    /^(?:urn:)?(?:uuid:)?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-([0-9a-f]{12})$/i.exec(endpoint ?? '') ?? [];
  const inEndpoint = node.toLowerCase().match(/../g)?.join(':');
  const found = [mac, inEndpoint, ...addresses.map((address) => neighbours.get(address))];
  return new Set(found.filter((one) => one !== undefined));
}

const isSame = (identity: Identity, { serial = '', model }: FoundDevice): boolean =>
  isOwnSerial(serial) && serial === identity.serial && model === identity.model;
