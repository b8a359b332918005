import type { Settings } from '#config/index.ts';
import { probeLocalSpeaker } from '#devices/audio/index.ts';
import { inspectDevice } from '#devices/onvif/index.ts';
import { describe } from '#errors.ts';
import type { StatusDocument } from '#lan/http/index.ts';
import { systemClock } from '#lib/clock.ts';
import { configuredDevice } from '../camera/settings.ts';
import { type Check, type Finding, failed, good, noDaemon, silent, skipped } from './finding.ts';
import type { Scene } from './scene.ts';

/** How many devices are asked at a time. */
const abreast = 4;

type Link = StatusDocument['links'][number];

interface Words {
  readonly means: string;
  readonly advice: (id: string) => readonly string[];
}

/** As the daemon knows them. */
const known = (links: readonly Link[], { means, advice }: Words): readonly Finding[] =>
  links.map(({ id, up, reason }) =>
    up === true
      ? good('answers', id)
      : up === null
        ? skipped(reason ?? 'nothing was heard of it yet', id)
        : failed({ subject: id, seen: reason ?? 'it is away', means, advice: advice(id) }),
  );

const cameraWords: Words = {
  means: 'no picture and no event comes from it; its zones are not as good as closed',
  advice: (id) => [
    'check power, cable and address',
    `"siteward camera test ${id}" goes through everything step by step`,
  ],
};

/** Each camera and recorder. Without the daemon they are asked here, with no more tries of a password than it makes. */
export const camerasCheck: Check = {
  id: 'cameras',
  title: 'cameras and recorders',
  patienceMs: 180_000,
  look: ofDevices(
    ({ cameras, nvrs }) => [...cameras, ...nvrs].map(({ id }) => id),
    'no camera and no recorder',
    ({ cameras }) => known(cameras, cameraWords),
    (ids, { file }, signal) => inTurns(ids, (id) => askCamera(id, file, signal)),
  ),
};

async function askCamera(id: string, file: string, signal: AbortSignal): Promise<Finding> {
  try {
    const device = configuredDevice(id, file)?.device(true);
    if (device === undefined) return skipped('it is not in the configuration', id);
    const { url, username, password, fingerprint } = device;
    const soon = AbortSignal.any([signal, AbortSignal.timeout(30_000)]);
    const seen = await inspectDevice({ url, username, password, fingerprint, clock: systemClock(), signal: soon });
    return good([seen.manufacturer, seen.model].filter((word) => word !== undefined).join(' ') || 'answers', id);
  } catch (error) {
    signal.throwIfAborted();
    return failed({ ...cameraWords, subject: id, seen: describe(error), advice: cameraWords.advice(id) });
  }
}

const speakerWords: Words = {
  means: 'no message and no siren is heard there',
  advice: (id) => [
    `"siteward audio test ${id}" plays a quiet tone there`,
    'as the user siteward, "aplay -L" and "pactl list short sinks" show what there is to play on',
  ],
};

/** Each speaker that is used. */
export const speakersCheck: Check = {
  id: 'speakers',
  title: 'speakers',
  patienceMs: 60_000,
  look: ofDevices(
    ({ speakers }) => speakers.filter(({ enabled }) => enabled).map(({ id }) => id),
    'no speaker',
    ({ speakers = [] }) => known(speakers, speakerWords),
    (ids, { settings }, signal) =>
      inTurns(ids, async (id) => {
        const options = settings?.speakers.find((one) => one.id === id);
        if (options === undefined) return skipped('it is not in the configuration', id);
        try {
          const soon = AbortSignal.any([signal, AbortSignal.timeout(10_000)]);
          const probe = await probeLocalSpeaker(options, soon);
          return probe === undefined ? { ...noDaemon('siteward asks it'), subject: id } : good(probe.detail, id);
        } catch (error) {
          signal.throwIfAborted();
          return failed({ ...speakerWords, subject: id, seen: describe(error), advice: speakerWords.advice(id) });
        }
      }),
  ),
};

/** Whether each panel is heard. Only who listens all the time can tell. */
export const panelsCheck: Check = {
  id: 'panels',
  title: 'panels',
  look: ofDevices(
    ({ panels }) => panels.map(({ id }) => id),
    'no panel',
    ({ panels }) =>
      known(panels, {
        means: 'its zones and its arming are not known; what it says is not heard',
        advice: () => [
          'check the panel, its module and its way to the broker',
          '"siteward panel watch --help": it shows what is heard of it',
        ],
      }),
    async (ids) => ids.map((id) => ({ ...noDaemon('siteward hears it'), subject: id })),
  ),
};

/** In the configuration, and part of nothing that siteward watches. */
const notUsed = 'no zone and no partition is of it, so that nobody waits for it';

function ofDevices(
  configured: (settings: Settings) => readonly string[],
  none: string,
  byDaemon: (status: StatusDocument) => readonly Finding[],
  alone: (ids: readonly string[], scene: Scene, signal: AbortSignal) => Promise<readonly Finding[]>,
): Check['look'] {
  return async (scene, signal) => {
    const { settings, daemon } = scene;
    if (daemon.status !== undefined) {
      const found = byDaemon(daemon.status);
      const unseen =
        settings === undefined ? [] : configured(settings).filter((id) => !found.some((one) => one.subject === id));
      const unused = unseen.map((id) => skipped(notUsed, id));
      return found.length + unused.length > 0 ? [...found, ...unused] : [skipped(none)];
    }
    if (settings === undefined) return [skipped('the configuration has errors')];
    const ids = configured(settings);
    if (ids.length === 0) return [skipped(none)];
    // It may be there and only not answer this user: two that ask one device get in each other's way.
    if (daemon.pid !== undefined) return [skipped(silent)];
    return alone(ids, scene, signal);
  };
}

async function inTurns(ids: readonly string[], ask: (id: string) => Promise<Finding>): Promise<readonly Finding[]> {
  const found: Finding[] = [];
  for (let at = 0; at < ids.length; at += abreast)
    found.push(...(await Promise.all(ids.slice(at, at + abreast).map(ask))));
  return found;
}
