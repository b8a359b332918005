import type { Place } from '#box/known-cameras.ts';
import type { FoundDevice } from '#devices/onvif/index.ts';

export const titles = ['address', 'vendor', 'model', 'name', 'kind', 'password', 'configured'];

export function rowOf(device: FoundDevice, { configured, moved }: Place): readonly string[] {
  const { url, addresses, vendor, model, name, answers } = device;
  return [
    url ?? `${addresses[0] ?? ''} (link-local only: give it an IPv4 address)`,
    vendor ?? '-',
    model ?? '-',
    name ?? '-',
    kindOf(device),
    answers ? wanted(device) : 'no answer',
    configured ?? (moved === undefined ? '-' : `${moved.id}, at another address`),
  ];
}

function kindOf({ recorder, videoSources }: FoundDevice): string {
  if (recorder === undefined) return '?';
  const channels = videoSources === undefined ? '' : `, ${videoSources} channels`;
  return recorder ? `recorder${channels}` : 'camera';
}

const wanted = ({ passwordNeeded }: FoundDevice): string =>
  passwordNeeded === undefined ? '?' : passwordNeeded ? 'needed' : 'none';

export const jsonOf = (device: FoundDevice, { configured, moved }: Place) => ({
  url: device.url ?? null,
  addresses: device.addresses,
  vendor: device.vendor ?? null,
  model: device.model ?? null,
  name: device.name ?? null,
  location: device.location ?? null,
  firmware: device.firmware ?? null,
  serial: device.serial ?? null,
  mac: device.mac ?? null,
  endpoint: device.endpoint ?? null,
  tls_fingerprint: device.fingerprint ?? null,
  password_needed: device.passwordNeeded ?? null,
  video_sources: device.videoSources ?? null,
  recorder: device.recorder ?? null,
  answers: device.answers,
  configured: configured ?? null,
  same_as: moved?.id ?? null,
});
