import { resolve } from 'node:path';
import { hostAndPort } from '#box/known-cameras.ts';
import { wantedDevices } from '#box/wanted-devices.ts';
import { withoutZones } from '#cloud/sync/index.ts';
import { views } from '#config/index.ts';
import { smallerJpeg } from '#devices/media/index.ts';
import { describe, SitewardError } from '#errors.ts';
import { cameraList, keyList, userList } from '#lan/http/index.ts';
import { localIso } from '#lib/local-iso.ts';
import { version } from '#lib/version.ts';
import { never } from '#lib/wait.ts';
import { answered } from '../control.ts';
import { lookAtAll } from '../doctor/doctor.ts';
import { intoFile } from '../named-file.ts';
import { printable } from '../table.ts';
import { cloudPlace } from './cloud-site.ts';
import { shownZones } from './devices.ts';
import { type Report, type ReportPicture, reportHtml } from './report-html.ts';
import type { Outcome } from './run.ts';
import type { Context } from './types.ts';

/** Longer than a camera may take (10 s) and who asks it (11 s). */
const pictureMs = 15_000;
/** A larger one is made smaller, to be looked at on paper. */
const largeBytes = 512 * 1024;
const paperWidth = 1280;
/** Of one that cannot be made smaller, without ffmpeg. */
const pictureCap = 4 * 1024 * 1024;
/** Of all, so that the file can be mailed and opened. */
const picturesCap = 48 * 1024 * 1024;

/**
 * The commissioning report: one HTML file for this user alone, with what the site is, what each step came to, what is missing, and a
 * picture of each camera whose `pictures` setting allows one now (safety 11). No secret and no code is in it.
 */
export async function writeReport(
  context: Context,
  outcomes: readonly Outcome[],
  { out, force }: { out: string; force: boolean },
): Promise<void> {
  const report = await collect(context, outcomes);
  const html = reportHtml(report);
  await intoFile(resolve(out), force, async (file) => (await file.write(html)).bytesWritten);
  const taken = report.pictures.filter(({ jpeg }) => jpeg !== undefined).length;
  const { notWell } = report;
  const ill = typeof notWell === 'string' ? 'not known' : notWell.length === 0 ? 'nothing' : '';
  context.talk.say(`\nwhat is not well now, as siteward doctor finds it: ${ill}`);
  if (typeof notWell !== 'string')
    for (const [what = '', state = '', seen = ''] of notWell)
      context.talk.say(printable(`  ${what}: ${seen} (${state})`));
  context.talk.say(`\nreport: ${printable(out)}, with ${taken} of ${report.pictures.length} pictures`);
  for (const { id, why } of report.pictures)
    if (why !== undefined) context.talk.say(`  no picture of ${id}: ${printable(why)}`);
  if (taken > 0)
    context.talk.say(
      'The pictures are personal data: give it only to whom it concerns, and delete it here when it is handed over.',
    );
}

async function collect(context: Context, outcomes: readonly Outcome[]): Promise<Report> {
  const { settings } = context.site();
  const { site, bridge, partitions, panels, speakers } = settings;
  const at = (iso: string) => localIso(Date.parse(iso), site.timezone).slice(0, 16).replace('T', ' ');
  context.talk.say('\nlooking at everything for the report ...');
  const all = await lookAtAll({ file: context.config, socket: context.socket }, never());
  /** What the doctor found of one device. */
  const nowOf = (check: string, id: string): string => {
    const found = all.find((one) => one.check.id === check)?.findings.filter(({ subject }) => subject === id) ?? [];
    return found.map(({ state, seen }) => (state === 'failed' ? `does not work: ${seen}` : seen)).join('; ');
  };
  const [devices, users] = [await orWhy(() => devicesOf(context)), await orWhy(() => usersOf(context))];
  const keys = await orWhy(() => keysOf(context));
  return {
    at: at(new Date().toISOString()),
    timezone: site.timezone,
    facts: [
      ['Site', site.name ?? site.external_id],
      ['External id of the site', site.external_id],
      ['Id at the service', site.id],
      ['Dealer at the service', site.dealer_id ?? 'none'],
      ['Time zone', site.timezone],
      ['Box', `${bridge.external_id} (${bridge.role})`],
      ['Service', settings.cloud?.base_url ?? 'none: siteward works on its own'],
      ['Partitions', partitions.map(({ id, name }) => `${id} ${name}`).join(', ')],
      ['siteward', version],
      ['Node.js', process.versions.node],
    ],
    notWell: all.flatMap(({ check, findings }) =>
      findings
        .filter(({ state }) => state === 'failed' || state === 'warning')
        .map(({ state, subject, seen, means = '', advice = [] }) => [
          subject === undefined ? check.title : `${check.title} (${subject})`,
          ...[state === 'failed' ? 'does not work' : 'warning', seen, means, advice.join('; ')],
        ]),
    ),
    panels: panels.map(({ id, profile }) => [id, profile, nowOf('panels', id)]),
    cameras: await orWhy(() => camerasOf(context, (id) => nowOf('cameras', id))),
    devices,
    users,
    keys,
    zones: shownZones(settings).map((zone) => [
      ...[zone.number, zone.name, zone.type, zone.partitions.join(' ')],
      `${zone.source.kind} ${zone.source.id}`,
      zone.cameras.join(', '),
    ]),
    speakers: speakers.map(({ id, name = '', driver, enabled }) => [
      id,
      name,
      driver,
      enabled ? 'yes' : 'switched off',
      nowOf('speakers', id),
    ]),
    pictures: await picturesOf(context),
    steps: outcomes.map((one) => ({ ...one, at: at(one.at) })),
  };
}

type Rows = readonly (readonly string[])[];

/** What could not be had is said in its place. */
async function orWhy(read: () => Promise<Rows>): Promise<Rows | string> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof SitewardError)) throw error;
    return describe(error);
  }
}

async function devicesOf(context: Context): Promise<Rows> {
  const params = await cloudPlace(context);
  if (params === undefined)
    throw new SitewardError('config_invalid', 'the partner interface is not in the configuration');
  // Numbers of zones for silent calls stand in no list (safety 4).
  const { reserved = [] } = wantedDevices(context.site().settings, []);
  const { value } = await context.withCloud(({ manage }, signal) => manage.listDevices({ params, signal }));
  return value.map((one) => [
    String(one.device_id ?? ''),
    one.external_device_id ?? '',
    one.name ?? '',
    String(one.device_type ?? ''),
    [one.zone_number, one.additional_zone_numbers]
      .map((part) => withoutZones(part ?? '', reserved))
      .filter((part) => part !== '')
      .join(', '),
  ]);
}

async function usersOf(context: Context): Promise<Rows> {
  return await context.withDaemon(async ({ client }, signal) =>
    userList
      .parse(answered(await client.listUsers({ signal })).json)
      .items.map(({ id, name, role, valid_from: from, valid_until: until, windows, now = '' }) => [
        ...[id, name, role],
        [from && `from ${from}`, until && `until ${until}`, windows && 'at its hours'].filter(Boolean).join(', ') ||
          'always',
        now,
      ]),
  );
}

async function camerasOf(context: Context, nowOf: (id: string) => string): Promise<Rows> {
  return await context.withDaemon(async ({ client }, signal) =>
    cameraList
      .parse(answered(await client.listCameras({ signal })).json)
      .items.map(({ id, nvr, name, manufacturer = '', model = '', serial = '', firmware = '', url }) => [
        ...[id, name, `${manufacturer} ${model}`.trim(), serial, firmware, hostAndPort(url)],
        nowOf(id) || (nvr === undefined ? '' : nowOf(nvr)),
      ]),
  );
}

async function keysOf(context: Context): Promise<Rows> {
  return await context.withDaemon(async ({ client }, signal) =>
    keyList
      .parse(answered(await client.listKeys({ signal })).json)
      .items.map(({ id, name, scopes, created_by: by, now }) => [id, name, scopes.join(' '), by, now]),
  );
}

async function picturesOf(context: Context): Promise<readonly ReportPicture[]> {
  const pictures: ReportPicture[] = [];
  let left = picturesCap;
  for (const { id, name = id } of views(context.site().settings)) {
    const jpeg = await fitting(await pictureOf(context, id));
    const isTooMuch = typeof jpeg !== 'string' && (jpeg.length > pictureCap || jpeg.length > left);
    if (typeof jpeg !== 'string' && !isTooMuch) left -= jpeg.length;
    pictures.push({
      ...{ id, name },
      ...(typeof jpeg === 'string'
        ? { why: jpeg }
        : isTooMuch
          ? { why: `it is too large for the report (${jpeg.length} bytes)` }
          : { jpeg }),
    });
  }
  return pictures;
}

/** As it is where ffmpeg is not there, or can make nothing of it: the caps hold then. */
async function fitting(picture: Uint8Array | string): Promise<Uint8Array | string> {
  if (typeof picture === 'string' || picture.length <= largeBytes) return picture;
  try {
    return await smallerJpeg(picture, paperWidth, AbortSignal.timeout(pictureMs));
  } catch (error) {
    if (!(error instanceof SitewardError)) throw error;
    return picture;
  }
}

/** Through the daemon, which keeps the setting `pictures` and writes the audit. */
async function pictureOf(context: Context, id: string): Promise<Uint8Array | string> {
  try {
    return await context.withDaemon(async ({ client }) => {
      const call = { params: { id }, signal: AbortSignal.timeout(pictureMs), deadlineMs: pictureMs };
      return answered(await client.cameraSnapshot(call)).body;
    });
  } catch (error) {
    if (!(error instanceof SitewardError)) throw error;
    return describe(error);
  }
}
