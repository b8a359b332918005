import { SitewardError } from '#errors.ts';
import type { DeviceId } from '#site/model/index.ts';
import { type AddressMode, pictureAddresses, streamAddress } from './address.ts';
import type { ChannelBook } from './channel-book.ts';
import type { Device } from './device.ts';
import { ignoreRefusedOperation, type Profile, type Reads } from './reads.ts';
import { streamProfile } from './topology.ts';

/** Where the pictures and the stream of one camera or channel are. */
export interface Place {
  /** Other text, other pictures: what was learned under another key is void. Throws when it is not certain whose they are. */
  key(): string;
  /** Addresses worth a try, best first. Throws what `Reads` throws. */
  pictures(signal: AbortSignal): Promise<readonly URL[]>;
  /** Of the stream, which is the small one where there are two. Throws as `pictures`. */
  stream(signal: AbortSignal): Promise<string>;
  readonly profiles: number | undefined;
}

interface At {
  readonly device: Device;
  readonly reads: Reads;
  readonly addresses: AddressMode;
}

/** The first profile is the one cameras use for their main picture. */
export function cameraPlace({ device, reads, addresses }: At): Place {
  let profiles: readonly Profile[] | undefined;
  return {
    key: () => '',
    async pictures(signal) {
      profiles = await reads.profiles(signal);
      const token = profiles[0]?.token;
      if (token === undefined) throw noProfile();
      return pictureAddresses(await reads.snapshotAddress(token, signal), device.base, addresses);
    },
    async stream(signal) {
      profiles ??= await reads.profiles(signal);
      const token = streamProfile(profiles)?.token;
      if (token === undefined) throw noProfile();
      return streamAddress(await reads.streamAddress(token, signal), device.base, addresses);
    },
    get profiles() {
      return profiles?.length;
    },
  };
}

/** A channel has profiles of its own, but many recorders report one picture address for all. */
export function channelPlace({ device, reads, addresses }: At, book: ChannelBook, channel: DeviceId): Place {
  const profile = () => {
    const { own, stream, other, position } = book.profilesOf(channel);
    const [token] = own;
    if (token === undefined) throw noProfile();
    return { token, stream: stream ?? token, other, position };
  };
  return {
    key: () => JSON.stringify(profile()),
    async pictures(signal) {
      const { token, other, position } = profile();
      const address = await reads.snapshotAddress(token, signal);
      // A profile without a picture address shares none; one that could not be asked may.
      const isShared =
        other !== undefined && address === (await reads.snapshotAddress(other, signal).catch(ignoreRefusedOperation));
      return pictureAddresses(isShared ? ofChannel(address, position) : address, device.base, addresses);
    },
    async stream(signal) {
      return streamAddress(await reads.streamAddress(profile().stream, signal), device.base, addresses);
    },
    profiles: undefined,
  };
}

/** `channel=` in a shared address is the first channel's number, 0 or 1; without it nobody knows whose picture comes. */
function ofChannel(address: string, position: number): string {
  const [part, before, first] = /([?&;]channel(?:id)?=)([01])(?=&|;|#|$)/i.exec(address) ?? [];
  if (part === undefined) {
    throw new SitewardError(
      'camera_bad_answer',
      'The recorder reports one picture address for all its channels: set snapshot_url of the channel',
    );
  }
  return address.replace(part, `${before}${Number(first) + position - 1}`);
}

const noProfile = () => new SitewardError('camera_bad_answer', 'The camera has no media profile');
