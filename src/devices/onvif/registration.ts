import { isIP } from 'node:net';
import { bareHost } from '#lib/host.ts';
import type { CameraStatus, ChannelStatus } from './camera.ts';

/** What the cloud is told of a recorder: never credentials. */
export interface NvrRegistration {
  readonly external_nvr_id: string;
  readonly name: string;
  readonly manufacturer?: string;
  readonly model?: string;
  readonly serial_number?: string;
  readonly mac?: string;
  /** As configured; absent where that is a name. */
  readonly ip_address?: string;
}

/** What the cloud is told of a camera or channel. */
export interface CameraRegistration {
  readonly external_device_id: string;
  readonly device_type: 'camera';
  readonly name: string;
  readonly manufacturer?: string;
  readonly model?: string;
  readonly serial_number?: string;
  readonly mac?: string;
}

export interface Registration {
  readonly nvr?: NvrRegistration;
  readonly cameras: readonly CameraRegistration[];
}

/** What a device is registered by: its status, or as much as is known without one. */
export type Registered = Pick<
  CameraStatus,
  'kind' | 'id' | 'name' | 'host' | 'manufacturer' | 'model' | 'serial' | 'identity'
> & { readonly channels?: readonly Pick<ChannelStatus, 'id' | 'name'>[] };

/**
 * What there is to register of one device. Ids are those of the configuration and stay with the place when the device is
 * replaced. Of a channel only its name is known: maker, serial number and MAC of the camera behind it are the recorder's secret.
 */
export function registrationOf(status: Registered): Registration {
  const { kind, id, name = id, host, identity, channels = [] } = status;
  const box = {
    ...text('manufacturer', status.manufacturer),
    ...text('model', status.model),
    ...text('serial_number', status.serial),
    ...text('mac', identity?.mac),
  };
  const camera = { device_type: 'camera' } as const;
  if (kind === 'camera') return { cameras: [{ external_device_id: id, ...camera, name, ...box }] };
  const address = bareHost(host);
  return {
    nvr: { external_nvr_id: id, name, ...box, ...(isIP(address) !== 0 && { ip_address: address }) },
    cameras: channels.map((channel) => ({
      external_device_id: channel.id,
      ...camera,
      name: channel.name ?? channel.id,
    })),
  };
}

const text = <K extends string>(key: K, value: string | undefined): Partial<Record<K, string>> =>
  value === undefined || value === '' ? {} : ({ [key]: value } as Record<K, string>);
