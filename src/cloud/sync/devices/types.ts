import type { DeviceCreate, NvrCreate } from '#cloud/contract/index.ts';

/** A device of this site as the cloud should know it. */
export interface WantedDevice extends Omit<DeviceCreate, 'zone_number' | 'additional_zone_numbers'> {
  /** Undefined: any number that is free. */
  readonly zone?: string;
  /** Of the bridge: the zones of its panels. */
  readonly furtherZones: readonly string[];
  /** It has not told yet what it is, by which the cloud may know it under another id: it is not created until then. */
  readonly isSettling?: boolean;
}

/** A recorder as the cloud should know it. */
export interface WantedNvr extends NvrCreate {
  /** Its id in the cloud, as somebody has seen it there: it is not registered then. */
  readonly cloud_nvr_id?: string;
  /** `external_device_id` of its cameras. */
  readonly devices: readonly string[];
}

/** What the cloud should know of this site: this bridge, its cameras and channels, its recorders. */
export interface Wanted {
  readonly devices: readonly WantedDevice[];
  readonly nvrs: readonly WantedNvr[];
  /** Numbers of zones that stand in no list, which no device is given in place of another (safety 4). */
  readonly reserved?: readonly string[];
}

/** What differs, by the member of the interface. `from` is null where the cloud has nothing. */
export type Differences = Readonly<Record<string, { readonly from: string | null; readonly to: string }>>;

/** Why nothing is done about a device until somebody decides, or until the time is there. */
export interface HeldDevice {
  readonly external_id: string;
  readonly kind: 'device' | 'nvr';
  /**
   * `refused`: the cloud refused it, and nothing about it has changed since. `conflict`: several devices of the cloud could be it.
   * `waiting`: tried again by itself. `unknown`: nobody knows whether it was done, and it cannot be looked for.
   */
  readonly reason: 'refused' | 'conflict' | 'waiting' | 'unknown';
  readonly status?: number;
  /** In the words of the service, or ours. */
  readonly message: string;
}

/** What a reconciliation would do. Never a deletion: what the site has no more is only named. */
export interface DevicePlan {
  readonly create: readonly DeviceCreate[];
  readonly update: readonly {
    readonly device_id: string;
    readonly external_device_id: string;
    readonly changes: Differences;
  }[];
  readonly unchanged: readonly string[];
  /** Devices of the cloud that are none of this site's; they stay. */
  readonly absent: readonly {
    readonly device_id: string;
    readonly external_device_id?: string;
    readonly name?: string;
  }[];
  /** Zone numbers that another device of the cloud has: which one is given instead. */
  readonly zones: readonly { readonly external_device_id: string; readonly wanted: string; readonly given: string }[];
  readonly nvrs: {
    readonly create: readonly NvrCreate[];
    readonly update: readonly {
      readonly nvr_id: string;
      readonly external_nvr_id: string;
      readonly changes: Differences;
    }[];
    readonly attach: readonly { readonly external_nvr_id: string; readonly devices: readonly string[] }[];
  };
  readonly held: readonly HeldDevice[];
}

export interface DeviceSyncShown {
  /** `off`: no partner access in the configuration. `gone`: the site is deleted, or access to it was withdrawn. */
  readonly state: 'off' | 'in_step' | 'behind' | 'away' | 'gone';
  readonly reason?: string;
  /** Milliseconds of the wall clock; undefined: never. */
  readonly inStepAt?: number;
  /** Ids of the cloud by external id, of devices and recorders. */
  readonly ids: Readonly<Record<string, string>>;
  /** The same of those that are wanted no more and are still there: devices as seen last, recorders as they were registered. */
  readonly left: Readonly<Record<string, string>>;
  readonly held: readonly HeldDevice[];
}

export interface SyncWish {
  /** What was refused is tried again. */
  readonly again?: boolean | undefined;
  /** Recorders whose registration was answered into nothing are registered again: somebody has looked that they are not there. */
  readonly lost?: boolean | undefined;
}

/** What a reconciliation did, by external id, and where it stands now. */
export interface DeviceSyncDone {
  readonly created: readonly string[];
  readonly updated: readonly string[];
  readonly nvrs: {
    readonly created: readonly string[];
    readonly updated: readonly string[];
    /** Devices that were associated with a recorder. */
    readonly attached: readonly { readonly external_nvr_id: string; readonly devices: readonly string[] }[];
  };
  readonly shown: DeviceSyncShown;
}
