import type { Wanted, WantedDevice } from '#cloud/sync/index.ts';
import { type Settings, sitePlan } from '#config/index.ts';
import { type CameraStatus, type Registration, registrationOf } from '#devices/onvif/index.ts';
import { given } from '#lib/given.ts';
import { isVisibleZone } from '#site/model/index.ts';

/**
 * What the cloud should know of this site: this bridge with the zones of its panels, every camera and channel of
 * the configuration, and the recorders. What is configured is approved; nothing that was only found is here. `settling`: cameras that have not told what they are and may still. Pure.
 */
export function wantedDevices(
  settings: Settings,
  statuses: readonly CameraStatus[],
  settling: ReadonlySet<string> = new Set(),
): Wanted {
  const { site, bridge, cameras, nvrs } = settings;
  const { zones } = sitePlan(settings);
  const visible = zones.filter(isVisibleZone);
  const camera = (one: Registration['cameras'][number]): WantedDevice => {
    const its = visible.filter(({ source }) => source.kind === 'camera' && source.id === one.external_device_id);
    // Its own goes before those of contacts that are wired to it.
    const own = its.filter(({ input }) => input === undefined).map(({ number }) => number);
    const wired = its.filter(({ input }) => input !== undefined).map(({ number }) => number);
    return {
      ...one,
      ...numbers([...own, ...sorted(wired)]),
      ...(settling.has(one.external_device_id) && { isSettling: true }),
    };
  };
  const cloudIds = new Map(nvrs.map(({ id, cloud_nvr_id }) => [id, cloud_nvr_id]));
  const devices = [
    ...cameras.map((one) => registered('camera', one, statuses)),
    ...nvrs.map((one) => registered('nvr', one, statuses)),
  ];
  return {
    devices: [
      {
        external_device_id: bridge.external_id,
        device_type: 'bridge',
        name: site.name ?? bridge.external_id,
        // A recorder has no zones in the cloud.
        ...numbers(sorted(visible.filter(({ source }) => source.kind !== 'camera').map(({ number }) => number))),
      },
      ...devices.flatMap((one) => one.cameras).map(camera),
    ],
    nvrs: devices.flatMap(({ nvr, cameras: channels }) =>
      nvr === undefined
        ? []
        : [
            {
              ...nvr,
              ...given({ cloud_nvr_id: cloudIds.get(nvr.external_nvr_id) }),
              devices: channels.map((one) => one.external_device_id),
            },
          ],
    ),
    reserved: zones.filter((zone) => !isVisibleZone(zone)).map(({ number }) => number),
  };
}

type Device = Pick<Settings['cameras'][number], 'id' | 'name' | 'url'> &
  Partial<Pick<Settings['nvrs'][number], 'channels'>>;

/** Facts that are not told yet, and those of another device in its place, are left out: what the cloud knows of them stays. */
function registered(
  kind: 'camera' | 'nvr',
  { id, name, url, channels = [] }: Device,
  statuses: readonly CameraStatus[],
): Registration {
  const status = statuses.find((one) => one.kind === kind && one.id === id);
  const isAnother = status?.warnings.some(({ code }) => code === 'other_device') === true;
  const { manufacturer, model, serial, identity } = status === undefined || isAnother ? ({} as Facts) : status;
  return registrationOf({
    ...{ kind, id, host: new URL(url).hostname },
    ...(name !== undefined && { name }),
    channels: channels.map((one) => ({ id: one.id, ...(one.name !== undefined && { name: one.name }) })),
    ...(manufacturer !== undefined && { manufacturer }),
    ...(model !== undefined && { model }),
    ...(serial !== undefined && { serial }),
    ...(identity !== undefined && { identity }),
  });
}

type Facts = Partial<Pick<CameraStatus, 'manufacturer' | 'model' | 'serial' | 'identity'>>;

const numbers = ([zone, ...furtherZones]: readonly string[]): Pick<WantedDevice, 'zone' | 'furtherZones'> => ({
  ...(zone !== undefined && { zone }),
  furtherZones,
});

/** By number. A collator is made for each call: the first one loads what no start of the daemon should wait for. */
const sorted = (zones: readonly string[]): string[] =>
  zones.toSorted(new Intl.Collator('en', { numeric: true }).compare);
