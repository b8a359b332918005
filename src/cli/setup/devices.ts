import { parse } from 'yaml';
import { placesIn } from '#box/known-cameras.ts';
import { readNeighbours } from '#box/neighbours.ts';
import { type Settings, sitePlan } from '#config/index.ts';
import { discover, outlets, readTargets } from '#devices/onvif/index.ts';
import { describe, isCode, SitewardError } from '#errors.ts';
import { systemClock } from '#lib/clock.ts';
import { given } from '#lib/given.ts';
import { never } from '#lib/wait.ts';
import { deviceId, zoneNumber, zoneTypes } from '#site/model/index.ts';
import { addDevice } from '../camera/add.ts';
import { camerasOrWhy } from '../camera/entries.ts';
import { configuredIn } from '../camera/known.ts';
import { counted, printable } from '../table.ts';
import type { Answers } from './answers.ts';
import { shownUrl } from './shown.ts';
import { type Context, type Step, skipped } from './types.ts';

type CameraAnswer = Answers['cameras'][number];

export const named = (ids: readonly string[]): string => (ids.length === 0 ? 'none' : ids.join(', '));

export const isId = (text: string): string | undefined =>
  deviceId.safeParse(text).success ? undefined : '1 to 32 lower-case letters, digits, _ or -';

export const cameraStep: Step = {
  id: 'cameras',
  title: 'Cameras',
  needs: ['site'],
  later: 'siteward camera discover, then siteward camera add ADDRESS --id ID (docs/cameras.md)',
  async isDone({ site, answers }) {
    const { settings } = site();
    const known = settings.cameras.map(({ id }) => id);
    const isWhole = answers.cameras.every(({ id }) => known.includes(id));
    return { isDone: known.length > 0 && isWhole, words: `cameras: ${named(known)}` };
  },
  async ask(context) {
    const { answers, site } = context;
    const known = new Set(site().settings.cameras.map(({ id }) => id));
    const listed = answers.cameras.filter(({ id }) => !known.has(id));
    const wanted = listed.length > 0 ? listed : await askCameras(context);
    if (wanted.length === 0) return skipped('no camera');
    return {
      would: `look at ${named(wanted.map(({ id, address }) => `${id} (${address})`))} and add what lets siteward in`,
      values: wanted.map(deviceText),
      async run() {
        for (const one of wanted) await addCamera(context, one);
        return `added: ${named(wanted.map(({ id }) => id))}`;
      },
    };
  },
};

type Described = Pick<CameraAnswer, 'id' | 'address' | 'name' | 'user'> & Partial<CameraAnswer>;

/** What will be known of a camera or recorder, without its password. */
export const deviceText = ({ id, address, name, zone, partition, user, pictures }: Described): string =>
  [
    `${id}: ${shownUrl(address)}`,
    ...(name === undefined ? [] : [name]),
    ...(zone === undefined ? [] : [`zone ${zone}`]),
    ...(partition === undefined ? [] : [`partition ${partition}`]),
    user === undefined ? 'no user' : `user ${user}`,
    ...(pictures === undefined ? [] : [`pictures ${pictures}`]),
  ].join(', ');

/** One after the other, each whole: what is ended in between has those before. */
async function addCamera(context: Context, camera: CameraAnswer): Promise<void> {
  const {
    id,
    address,
    name,
    zone,
    zone_type: zoneType,
    partition,
    user,
    password_file: passwordFile,
    pictures,
  } = camera;
  const { config, socket } = context;
  const about = given({ name, zone, zoneType, partition, user, passwordFile, pictures });
  await letIn(context, passwordFile, () =>
    addDevice(address, { id, nvr: false, config, socket, dryRun: false, passwordStdin: false, ...about }),
  );
  // Nothing is left to write: the daemon takes what was.
  await context.change([]);
}

/** A password that was typed wrong is asked for again; what was added before stays. */
export async function letIn(
  { talk }: Context,
  passwordFile: string | undefined,
  add: () => Promise<unknown>,
): Promise<void> {
  for (;;) {
    try {
      await add();
      return;
    } catch (error) {
      const isWrong = isCode(error, 'camera_auth') || isCode(error, 'request_invalid');
      if (!isWrong || !talk.isThere || passwordFile !== undefined) throw error;
      talk.say(`  ${printable(describe(error))}`);
      const answer = await talk.ask({
        text: '  type its password once more? yes or no',
        initial: 'yes',
        check: (text) => (/^(y|yes|no?)$/i.test(text) ? undefined : 'yes or no'),
      });
      if (/^no?$/i.test(answer ?? '')) throw error;
    }
  }
}

/** What answers in the network, each approved by the person. */
async function askCameras({ talk, config, socket, site }: Context): Promise<readonly CameraAnswer[]> {
  if (!talk.isThere) return [];
  const text = await talk.ask({
    text: '  look for cameras: all for the whole network, or addresses such as 192.0.2.0/24; nothing for none',
  });
  if (text === undefined || text === '') return [];
  const targets = text === 'all' ? [] : readTargets(text.split(/[\s,]+/));
  talk.say('  looking for cameras ...');
  const { devices } = await discover({
    targets,
    outlets: targets.length > 0 ? [] : outlets(undefined),
    forMs: targets.length > 0 ? 2000 : 5000,
    clock: systemClock(),
    signal: never(),
    progress: () => {},
  });
  const cameras = await camerasOrWhy(socket);
  const placeOf = await placesIn(devices, {
    configured: configuredIn(config),
    cameras: typeof cameras === 'string' ? [] : cameras,
    neighbours: await readNeighbours(),
  });
  const fresh = devices.filter((one) => one.url !== undefined && Object.keys(placeOf(one)).length === 0);
  talk.say(`  found: ${counted(fresh.length, 'new camera')}`);
  const partitions = site().settings.partitions.map(({ id }) => id);
  const approved: CameraAnswer[] = [];
  for (const { url = '', vendor = '', model = '', serial = '', passwordNeeded } of fresh) {
    talk.say(`  ${printable([vendor, model, serial, url].filter((part) => part !== '').join(' '))}`);
    const id = await talk.ask({ text: '    its id; nothing leaves it out, recorders come next', check: isId });
    if (id === undefined || id === '') continue;
    const name = await talk.ask({ text: '    what people call it', initial: id });
    const zone = await talk.ask({
      text: '    zone number that its detections open; nothing for pictures only',
      check: isZone,
    });
    const user = await talk.ask({
      text: '    its user for siteward; the password is asked for',
      initial: passwordNeeded === false ? '' : 'siteward',
    });
    const more = zone ? { zone, ...(partitions.length === 1 && { partition: partitions[0] }) } : {};
    const pictures = await askPictures(talk, '    ');
    approved.push({ address: url, id, ...more, ...given({ pictures }), ...(name && { name }), ...(user && { user }) });
  }
  return approved;
}

const pictureRules = ['alarm', 'armed', 'always'] as const;
type PictureRule = (typeof pictureRules)[number];

/** The site's own choice, and none of the installer's (safety 11): what is there without one is with an alarm alone. */
export async function askPictures(talk: Context['talk'], indent: string): Promise<PictureRule | undefined> {
  const rule = await talk.ask({
    text: `${indent}when pictures of it may be taken: ${pictureRules.join(', ')}`,
    initial: 'alarm',
    check: (text) =>
      (pictureRules as readonly string[]).includes(text) ? undefined : `one of ${pictureRules.join(', ')}`,
  });
  return pictureRules.find((one) => one === rule);
}

export const isZone = (text: string): string | undefined =>
  zoneNumber.safeParse(text).success ? undefined : 'a number of a zone, such as 21';

export const zoneStep: Step = {
  id: 'zones',
  title: 'Zones',
  needs: ['panels', 'cameras', 'recorders'],
  later: 'panels[].zones and cameras[].zone of the configuration (docs/configuration.md)',
  async isDone({ site, answers }) {
    const { zones } = sitePlan(site().settings);
    const numbers = new Set(zones.map(({ number }) => number));
    const isWhole = answers.zones.every(({ number }) => numbers.has(number));
    const shown = shownZones(site().settings).map(({ number }) => number);
    return { isDone: zones.length > 0 && isWhole, words: `zones: ${named(shown)}` };
  },
  async ask(context) {
    const { answers, site } = context;
    const numbers = new Set(sitePlan(site().settings).zones.map(({ number }) => number));
    const listed = answers.zones.filter(({ number }) => !numbers.has(number));
    const zones = listed.length > 0 ? listed : await askZones(context);
    if (zones.length === 0) return skipped('no further zones');
    const told = zones.filter(({ type }) => type !== 'panic_silent').map(({ number }) => number);
    return {
      would: `write the zones of the answers into the configuration${told.length === 0 ? '' : `: ${named(told)}`}`,
      values: zones.filter(({ type }) => type !== 'panic_silent').map(zoneText),
      async run() {
        for (const panel of new Set(zones.map((zone) => zone.panel)))
          await addZones(context, panel, zones).catch((error: unknown) => {
            throw told.length === zones.length ? error : withoutPlace(error);
          });
        return zonesNow(site().settings);
      },
    };
  },
};

const zoneText = ({ number, name, type, panel, partition }: Answers['zones'][number]): string =>
  [
    `zone ${number}${name === undefined ? '' : ` ${name}`}: ${type}`,
    `panel ${panel}`,
    ...(partition === undefined ? [] : [`partition ${partition}`]),
  ].join(', ');

/** What is kept and reported names no zone of a silent hold-up, and is the same with and without one (safety 4). */
function zonesNow(settings: Settings): string {
  const numbers = shownZones(settings).map(({ number }) => number);
  return numbers.length === 0 ? 'zones: as in the configuration' : `zones: ${named(numbers)}`;
}

/** The check names the place of what is wrong, which may be a zone that nobody is to read of. */
const withoutPlace = (error: unknown): unknown =>
  isCode(error, 'config_invalid')
    ? new SitewardError(
        'config_invalid',
        'the zones of the answers are not taken: one of them is wrong. Compare its type, key, partition and cameras, and its number with those that are there (docs/configuration.md)',
      )
    : error;

interface WrittenPanel {
  readonly id: string;
  readonly zones?: object;
}

async function addZones(context: Context, panel: string, all: Answers['zones']): Promise<void> {
  const added = all.filter((zone) => zone.panel === panel);
  const fresh = added.map(({ panel: _, number, ...members }) => [number, given(members)]);
  // A group is given whole: what is not in it goes.
  const { panels = [] } = parse(context.site().text, { logLevel: 'silent' }) as { panels?: WrittenPanel[] };
  const zones = { ...panels.find(({ id }) => id === panel)?.zones, ...Object.fromEntries(fresh) };
  await context.change([{ do: 'change', section: 'panels', id: panel, members: { zones } }]);
}

async function askZones({ talk, site }: Context): Promise<Answers['zones']> {
  const [panel] = site().settings.panels;
  if (!talk.isThere || panel === undefined) return [];
  const zones: Answers['zones'] = [];
  for (;;) {
    const number = await talk.ask({ text: '  number of a zone of the panel; nothing ends the list', check: isZone });
    if (number === undefined || number === '') return zones;
    const type = await talk.ask({
      text: '    what it is, such as entry_exit_1, perimeter, interior_follower, fire',
      initial: 'perimeter',
      check: (text) => ((zoneTypes as readonly string[]).includes(text) ? undefined : `one of ${zoneTypes.join(', ')}`),
    });
    const name = await talk.ask({ text: '    its name', initial: `Zone ${number}` });
    zones.push({ panel: panel.id, number, type: type ?? 'perimeter', ...(name && { name }) });
  }
}

/** Zones of a silent hold-up stand in no list (safety 4). */
export const shownZones = (settings: Settings) =>
  sitePlan(settings).zones.filter(({ type }) => type !== 'panic_silent');
