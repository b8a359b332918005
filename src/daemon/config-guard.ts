import { isDeepStrictEqual } from 'node:util';
import { type Config, formatPath, type OtherProblem, type Path } from '#config/index.ts';
import { SecretRef } from '#lib/secret-ref.ts';

/**
 * What nobody may change over the network, whatever their account: else an installer could have a file of this box, or a secret
 * that somebody else gave, sent to a host of theirs, or a program of theirs run. Both texts are well formed.
 */
export function guardProblems(before: Config, after: Config, given: ReadonlySet<string>): readonly OtherProblem[] {
  const known = referencesOf(before);
  const isNew = ({ ref }: Reference) => ref.kind === 'file' && given.has(ref.name);
  const references = referencesOf(after);
  const unknown = [...references].flatMap(([place, reference]) =>
    isNew(reference) || isSame(known.get(place)?.ref, reference.ref) ? [] : [problem(reference.path, takenNowhere)],
  );
  /** It stays the one it was, though what it proves itself to is another. */
  const stale = (keys: readonly string[]): OtherProblem[] =>
    keys.flatMap((place) => {
      const reference = references.get(place);
      return reference === undefined || isNew(reference) ? [] : [problem(reference.path, anew)];
    });
  return [
    ...unknown,
    ...stale(ofCloud.filter(({ goesTo }) => goesTo(before) !== goesTo(after)).map(({ place }) => place)),
    ...stale([...movedDevices(before, after)]),
    ...ledSpeakers(before, after, stale),
    ...programs(before, after),
  ];
}

const takenNowhere =
  'a reference is taken only where it stands already: give the secret itself as { "secret": "TEXT" }, or change the file on the box';
const anew =
  'would go to another address, or be proved in another way, than it was given for: give it anew in the same change, as { "secret": "TEXT" }';
const asTheCamera =
  "would have the password of its camera sent to another address, or proved in another way, than the camera itself: set it on the box alone, in the file, or give the camera's password anew in the same change";
const onTheBox = 'is changed on the box alone, in the file: siteward runs it, or writes there';
const oddDevice =
  'must be the name of a sound card such as "default", "hw:CARD=x" or "plughw:CARD=x,DEV=0"; any other is set on the box alone, in the file';

const problem = (path: Path, message: string): OtherProblem => ({ path, message });

interface Reference {
  readonly ref: SecretRef;
  readonly path: Path;
}

/** By place: an entry of a list counts by its id, so that it keeps its place when others go. */
function referencesOf(config: Config): ReadonlyMap<string, Reference> {
  const found = new Map<string, Reference>();
  const walk = (value: unknown, path: Path, place: Path): void => {
    if (value instanceof SecretRef) found.set(formatPath(place), { ref: value, path });
    else if (Array.isArray(value))
      for (const [index, item] of value.entries()) walk(item, [...path, index], [...place, idOf(item) ?? index]);
    else if (typeof value === 'object' && value !== null)
      for (const [key, member] of Object.entries(value)) walk(member, [...path, key], [...place, key]);
  };
  walk(config, [], []);
  return found;
}

const idOf = (item: unknown): string | undefined =>
  typeof item === 'object' && item !== null && 'id' in item && typeof item.id === 'string' ? item.id : undefined;

const isSame = (a: SecretRef | undefined, b: SecretRef): boolean => a?.kind === b.kind && a.name === b.name;

/** Where each secret of the cloud goes, or what it lets its holder have. */
const ofCloud: readonly { readonly place: string; readonly goesTo: (config: Config) => string }[] = [
  ...['cloud.events.private_key', 'cloud.events.next_private_key'].map((place) => ({
    place,
    goesTo: ({ cloud }: Config) => JSON.stringify([cloud?.auth_url, cloud?.audience, cloud?.base_url]),
  })),
  {
    place: 'cloud.partner.client_secret',
    goesTo: ({ cloud }) => JSON.stringify([cloud?.auth_url, cloud?.base_url, cloud?.ext_base_url]),
  },
  { place: 'cloud.api_key', goesTo: ({ cloud }) => JSON.stringify([cloud?.base_url, cloud?.ext_base_url]) },
];

/** Places of passwords of cameras, recorders and speakers that would reach another host, or one that cannot be told from another. */
function* movedDevices(before: Config, after: Config): Generator<string> {
  for (const section of ['cameras', 'nvrs', 'speakers'] as const) {
    const old = new Map<string, Device>(before[section].map((device) => [device.id, device]));
    for (const device of after[section]) {
      const known = old.get(device.id);
      if (known !== undefined && isMoved(known, device)) yield formatPath([section, device.id, 'password']);
    }
  }
}

type Device = Config['cameras' | 'nvrs' | 'speakers'][number];

/**
 * Speakers that use the password of a camera. What stood there already stays; else they are judged by the camera: it is whose
 * password they would have sent. `stale`: whether the password of a place is still the one that was given before.
 */
function* ledSpeakers(
  before: Config,
  after: Config,
  stale: (places: readonly string[]) => readonly OtherProblem[],
): Generator<OtherProblem> {
  const old = new Map(before.speakers.map((speaker) => [speaker.id, speaker]));
  for (const [index, speaker] of after.speakers.entries()) {
    const owner = ownerOf(after, speaker.camera);
    if (owner === undefined || stale([owner.password]).length === 0) continue;
    const known = old.get(speaker.id);
    const camera = ownerById(before, owner);
    const wasLed = known !== undefined && ownerOf(before, known.camera)?.password === owner.password;
    const trusted = [...(camera === undefined ? [] : [camera]), ...(wasLed ? [known] : [])];
    if (reachesFurther(trusted, speaker)) yield problem(['speakers', index, 'camera'], asTheCamera);
  }
}

interface Owner {
  readonly section: 'cameras' | 'nvrs';
  readonly id: string;
  /** The place of its password. */
  readonly password: string;
}

/** Whose password a picture is asked for with: the camera, or the recorder of the channel. */
function ownerOf(config: Config, view: string | undefined): Owner | undefined {
  const owner = (section: Owner['section'], id: string) => ({
    ...{ section, id },
    password: formatPath([section, id, 'password']),
  });
  if (view === undefined) return undefined;
  if (config.cameras.some(({ id }) => id === view)) return owner('cameras', view);
  const nvr = config.nvrs.find(({ channels }) => channels.some(({ id }) => id === view));
  return nvr === undefined ? undefined : owner('nvrs', nvr.id);
}

const ownerById = (config: Config, { section, id }: Owner): Device | undefined =>
  config[section].find((one) => one.id === id);

function isMoved(before: Device, after: Device): boolean {
  if (reachesFurther([before], after)) return true;
  if (isLed(after) && !isLed(before)) return true;
  return after.tls_fingerprint?.toUpperCase() !== before.tls_fingerprint?.toUpperCase();
}

/** Whether a password would go somewhere, or in a way, that it did not with any of `trusted`. */
function reachesFurther(trusted: readonly Device[], after: Device): boolean {
  const places = new Set(trusted.flatMap((device) => addressesOf(device).map(placeOf)));
  if (addressesOf(after).some((url) => !places.has(placeOf(url)))) return true;
  // A password in clear can be read by somebody on the line; what proves one on a line in clear can be, too.
  return (isTold(after) && !trusted.some(isTold)) || (isPlain(after) && !trusted.some(isPlain));
}

const isTold = (device: Device): boolean =>
  device.basic_login === true || ('auth' in device && device.auth === 'basic');

/** To whatever host it says that its services are at. */
const isLed = (device: Device): boolean => 'addresses' in device && device.addresses === 'as_reported';

const isPlain = (device: Device): boolean =>
  addressesOf(device).some(({ protocol }) => protocol !== 'https:' && protocol !== 'rtsps:');

const standardPorts: Readonly<Record<string, string>> = {
  'http:': '80',
  'https:': '443',
  'rtsp:': '554',
  'rtsps:': '322',
};

/** Behind one router each port may be another device. */
const placeOf = ({ protocol, hostname, port }: URL): string =>
  `${hostname.toLowerCase()} ${port === '' ? standardPorts[protocol] : port}`;

/** Every address in the entry. */
function addressesOf(value: unknown): readonly URL[] {
  if (typeof value === 'string') {
    const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? URL.parse(value) : null;
    return url === null ? [] : [url];
  }
  if (typeof value !== 'object' || value === null || value instanceof SecretRef) return [];
  return Object.values(value).flatMap(addressesOf);
}

/** ALSA takes whole definitions of devices as names: one may write a file or run a program. */
const soundCard =
  /^(default|sysdefault|hw|plughw|front|dmix|hdmi|iec958|surround\d\d|pulse|pipewire|null)(:[A-Za-z0-9_=,.-]+)?$/;

function* programs(before: Config, after: Config): Generator<OtherProblem> {
  const old = new Map(before.speakers.map((speaker) => [speaker.id, speaker]));
  for (const [index, speaker] of after.speakers.entries()) {
    const known = old.get(speaker.id);
    for (const key of ['command', 'probe', 'folder', 'server'] as const)
      if (speaker[key] !== undefined && !isDeepStrictEqual(speaker[key], known?.[key]))
        yield problem(['speakers', index, key], onTheBox);
    const { device } = speaker;
    if (device !== undefined && device !== known?.device && !soundCard.test(device))
      yield problem(['speakers', index, 'device'], oddDevice);
  }
}
