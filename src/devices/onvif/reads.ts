import onvif from 'onvif';
import { isCode, SitewardError } from '#errors.ts';
import { unlessAborted, withDeadline } from '#lib/wait.ts';
import { childrenNamed, descend, escapeXml, everyNamed, firstNamed, textOf, type XmlElement } from '#lib/xml.ts';
import { type AddressMode, repairAddress } from './address.ts';
import type { Device, SoapReply } from './device.ts';

export interface DeviceInformation {
  readonly manufacturer: string;
  readonly model: string;
  readonly firmware: string;
  readonly serial: string;
}

export interface Profile {
  readonly token: string;
  readonly name: string;
  /** Tokens of what the profile is made of: the video source, its configuration, its analytics. */
  readonly source?: string;
  readonly configuration?: string;
  readonly analytics?: string;
  /** Of its video, in capitals: H264, H265, JPEG. */
  readonly encoding?: string;
}

export interface VideoSource {
  readonly token: string;
  /** `1920x1080` */
  readonly resolution?: string;
}

/** The one-shot reads, done by the `onvif` package. Every call ends within 10 s and throws what `Device.call` throws. */
export interface Reads {
  /** Doubles as the check of the password. */
  deviceInformation(signal: AbortSignal): Promise<DeviceInformation>;
  /** Learns the service addresses the other reads use; returns the event service's, repaired. */
  services(signal: AbortSignal): Promise<URL | undefined>;
  /** `proves`: asked for the password's sake as well, so that a refusal is one of it. */
  profiles(signal: AbortSignal, proves?: boolean): Promise<readonly Profile[]>;
  /** In the device's own order; empty where it does not tell. */
  videoSources(signal: AbortSignal): Promise<readonly VideoSource[]>;
  /** Of the first interface, lower case with colons; undefined where the device does not tell. */
  mac(signal: AbortSignal): Promise<string | undefined>;
  /** As the camera wrote it, blanks and line breaks removed. */
  snapshotAddress(profile: string, signal: AbortSignal): Promise<string>;
  streamAddress(profile: string, signal: AbortSignal): Promise<string>;
}

type Callback = (error: Error | null, data?: unknown, xml?: string, status?: number) => void;

interface PackageRequest {
  readonly service?: string;
  readonly action: string;
  readonly body: string;
}

/** What we use of the package's camera object. `_requestPart2` is its only way to the wire; a test pins that. */
interface PackageCam {
  media2Support?: boolean;
  _requestPart2(request: PackageRequest): void;
  getDeviceInformation(callback: Callback): void;
  getServices(includeCapability: boolean, callback: Callback): void;
  getCapabilities(callback: Callback): void;
  getProfiles(callback: Callback): void;
  getVideoSources(callback: Callback): void;
  getNetworkInterfaces(callback: Callback): void;
  getSnapshotUri(options: { profileToken: string }, callback: Callback): void;
  getStreamUri(options: { protocol: string; profileToken: string }, callback: Callback): void;
}

const readTimeoutMs = 10_000;
/** Of 128 channels. */
const maxProfiles = 384;
const nothing: Callback = () => undefined;

/**
 * The guard rails: the package forms the requests, our device carries them, and the answers are ours to read: the package turns text into numbers, booleans and dates, and its reader stands
 * still for minutes over a hostile answer. So its transport, digest, clock shift and event loop never run, it is never
 * given the password, nothing of it runs after a deadline, and an exception in its code ends in `contain`.
 */
export function createReads(device: Device, mode: AddressMode = 'repaired'): Reads {
  const cam = packageCam(device);
  /** What is asked for the password's sake. What may be refused to who may have the events says nothing of it. */
  const proving = new Set(['GetDeviceInformation', 'GetServices', 'GetCapabilities']);
  /** Service addresses by the names the package uses: media, media2, events. */
  const services = new Map<string, URL>();
  let last: Promise<unknown> = Promise.resolve();

  /** One call at a time: the package keeps its state in the camera object. */
  function read(name: string, signal: AbortSignal, start: () => void, proves = proving.has(name)): Promise<XmlElement> {
    const result = last.then(() => {
      signal.throwIfAborted();
      return withDeadline(readTimeoutMs, signal, (own) => run(name, proves, own, start), `${name} of the camera`);
    });
    last = result.catch(() => undefined);
    // Who leaves does not wait for those before.
    return unlessAborted(result, signal);
  }

  function run(name: string, proves: boolean, signal: AbortSignal, start: () => void): Promise<XmlElement> {
    return new Promise((resolve, reject) => {
      cam._requestPart2 = (request) => {
        carry(name, proves, request, signal).then((reply) => resolve(reply.body), reject);
      };
      const failure = contain(start);
      if (failure !== undefined) reject(packageFailure(name, failure));
    });
  }

  function carry(name: string, proves: boolean, request: PackageRequest, signal: AbortSignal): Promise<SoapReply> {
    const url = request.service === undefined ? device.base : (services.get(request.service) ?? device.base);
    const body = /<s:Body[^>]*>([\s\S]*)<\/s:Body>/.exec(request.body)?.[1] ?? '';
    const large = name === 'GetProfiles';
    const optional = proves ? false : 'spare';
    return device.call({ name, action: request.action, body, url, timeoutMs: readTimeoutMs, large, optional, signal });
  }

  async function learnServices(signal: AbortSignal): Promise<void> {
    const answer = await read('GetServices', signal, () => cam.getServices(false, nothing));
    for (const service of childrenNamed(answer, 'Service')) {
      const name = serviceNames[textOf(firstNamed(service, 'Namespace'))];
      if (name !== undefined)
        services.set(name, repairAddress(textOf(firstNamed(service, 'XAddr')), device.base, mode));
    }
  }

  /** Old devices know only GetCapabilities. */
  async function learnCapabilities(signal: AbortSignal): Promise<void> {
    const answer = await read('GetCapabilities', signal, () => cam.getCapabilities(nothing));
    for (const [element, name] of [
      ['Media', 'media'],
      ['Events', 'events'],
    ] as const) {
      const address = firstNamed(firstNamed(answer, element) ?? answer, 'XAddr');
      if (firstNamed(answer, element) !== undefined)
        services.set(name, repairAddress(textOf(address), device.base, mode));
    }
  }

  async function listProfiles(signal: AbortSignal, proves: boolean): Promise<readonly Profile[]> {
    const answer = await read('GetProfiles', signal, () => cam.getProfiles(nothing), proves);
    return childrenNamed(answer, 'Profiles')
      .map(profileOf)
      .filter((profile) => profile.token !== '')
      .slice(0, maxProfiles);
  }

  return {
    async deviceInformation(signal) {
      const answer = await read('GetDeviceInformation', signal, () => cam.getDeviceInformation(nothing));
      const text = (name: string) => textOf(firstNamed(answer, name)).slice(0, 100);
      return {
        manufacturer: text('Manufacturer'),
        model: text('Model'),
        firmware: text('FirmwareVersion'),
        serial: text('SerialNumber'),
      };
    },
    async services(signal) {
      await learnServices(signal).catch((error) => ignoreRefusedOperation(error));
      if (!services.has('events')) await learnCapabilities(signal).catch((error) => ignoreRefusedOperation(error));
      return services.get('events');
    },
    async profiles(signal, proves = false) {
      cam.media2Support = services.has('media2');
      try {
        const found = await listProfiles(signal, proves);
        const names = found.some(({ source }) => source !== undefined);
        if (names || !cam.media2Support || (found.length > 0 && !services.has('media'))) return found;
      } catch (error) {
        if (!cam.media2Support) throw error;
        ignoreRefusedOperation(error);
      }
      // Some cameras name a Media2 service that does not work.
      services.delete('media2');
      cam.media2Support = false;
      return listProfiles(signal, proves);
    },
    async videoSources(signal) {
      try {
        const answer = await read('GetVideoSources', signal, () => cam.getVideoSources(nothing));
        return childrenNamed(answer, 'VideoSources')
          .map(videoSourceOf)
          .filter(({ token }) => token !== '')
          .slice(0, 256);
      } catch (error) {
        ignoreRefusedOperation(error);
        return [];
      }
    },
    async mac(signal) {
      try {
        const answer = await read('GetNetworkInterfaces', signal, () => cam.getNetworkInterfaces(nothing));
        const digits = textOf(firstNamed(answer, 'HwAddress'))
          .toLowerCase()
          .replace(/[^0-9a-f]/g, '');
        return digits.length === 12 ? (digits.match(/../g) ?? []).join(':') : undefined;
      } catch (error) {
        ignoreRefusedOperation(error);
        return undefined;
      }
    },
    async snapshotAddress(profile, signal) {
      const options = { profileToken: escapeXml(profile) };
      return uriOf(await read('GetSnapshotUri', signal, () => cam.getSnapshotUri(options, nothing)));
    },
    async streamAddress(profile, signal) {
      const options = { protocol: 'RTSP', profileToken: escapeXml(profile) };
      return uriOf(await read('GetStreamUri', signal, () => cam.getStreamUri(options, nothing)));
    },
  };
}

const serviceNames: Readonly<Record<string, string>> = {
  'http://www.onvif.org/ver10/media/wsdl': 'media',
  'http://www.onvif.org/ver20/media/wsdl': 'media2',
  'http://www.onvif.org/ver10/events/wsdl': 'events',
};

/** Media names them by their whole names, Media2 below `Configurations` by short ones. */
function profileOf(profile: XmlElement): Profile {
  const configuration =
    descend(profile, 'VideoSourceConfiguration') ?? descend(profile, 'Configurations', 'VideoSource');
  const analytics = descend(profile, 'VideoAnalyticsConfiguration') ?? descend(profile, 'Configurations', 'Analytics');
  const encoder = descend(profile, 'VideoEncoderConfiguration') ?? descend(profile, 'Configurations', 'VideoEncoder');
  const text = (value: string | undefined) => value?.trim().slice(0, 64) ?? '';
  const encoding = text(textOf(descend(encoder, 'Encoding'))).toUpperCase();
  const source = text(textOf(descend(configuration, 'SourceToken')));
  return {
    token: text(profile.attributes.token),
    name: text(textOf(descend(profile, 'Name'))),
    ...(source !== '' && { source }),
    ...(encoding !== '' && { encoding }),
    ...(configuration?.attributes.token !== undefined && { configuration: text(configuration.attributes.token) }),
    ...(analytics?.attributes.token !== undefined && { analytics: text(analytics.attributes.token) }),
  };
}

function videoSourceOf(source: XmlElement): VideoSource {
  const side = (name: string) => Number(textOf(descend(source, 'Resolution', name)));
  const [width, height] = [side('Width'), side('Height')];
  return {
    token: (source.attributes.token ?? '').trim().slice(0, 64),
    ...(width > 0 && height > 0 && { resolution: `${width}x${height}` }),
  };
}

function packageCam(device: Device): PackageCam {
  const cam = new onvif.Cam({ hostname: device.base.hostname, autoconnect: false });
  // It asks for video sources only where it has noted a media service; where that is, we know.
  return Object.assign(cam, { uri: { media: {} } }) as unknown as PackageCam;
}

/** Runs package code; what it throws is returned. */
function contain(work: () => void): unknown {
  try {
    work();
    return undefined;
  } catch (error) {
    return error ?? new Error('unknown');
  }
}

const packageFailure = (name: string, cause: unknown) =>
  new SitewardError('camera_bad_answer', `The onvif package could not form ${name}`, { facts: { name }, cause });

/** A camera without this operation is no trouble; one that cannot be reached is. */
export function ignoreRefusedOperation(error: unknown): undefined {
  if (!isCode(error, 'camera_fault') && !isCode(error, 'camera_bad_answer')) throw error;
}

/** No device has one of half of it. */
const longestAddress = 4000;

function uriOf(answer: XmlElement): string {
  for (const element of everyNamed(answer, 'Uri')) {
    const text = textOf(element).replace(/\s+/g, '');
    if (text.length > longestAddress) {
      throw new SitewardError('camera_bad_answer', `The camera reported an address of ${text.length} characters`);
    }
    if (text !== '') return text;
  }
  throw new SitewardError('camera_bad_answer', 'The camera reported an empty address');
}
