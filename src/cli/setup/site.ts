import { stat } from 'node:fs/promises';
import { hostname, networkInterfaces } from 'node:os';
import { dirname, resolve } from 'node:path';
import { stringify } from 'yaml';
import { applyChanges, type Settings } from '#config/index.ts';
import { writeDurably } from '#lib/durable-file.ts';
import { given } from '#lib/given.ts';
import { isTimezone } from '#lib/timezone.ts';
import { withFile } from '../named-file.ts';
import { siteFileOf } from '../site-file.ts';
import { isOfFirstDay, startAgain } from './first-day.ts';
import { type Context, open, type Step } from './types.ts';

/** Until the service has given one (`cloud_site`). */
export const unknownSite = 'unknown';

/** Who this site and this box are. Begins the configuration where there is none. */
export const siteStep: Step = {
  id: 'site',
  title: 'Site and box',
  needs: [],
  keeps: (context) => (context.hasFile() ? undefined : 'all others rest on the configuration that it begins'),
  later: 'write the sections site, bridge and partitions of the configuration (docs/configuration.md)',
  async isDone(context) {
    if (!context.hasFile())
      return {
        isDone: false,
        words: isOfFirstDay(context.config)
          ? `${context.config} is as it was installed`
          : `there is no ${context.config} yet`,
      };
    const { site, bridge } = context.site().settings;
    const words = `site ${site.external_id}${site.name === undefined ? '' : ` (${site.name})`}, ${site.timezone}, box ${bridge.external_id}`;
    const now: Readonly<Record<string, unknown>> = site;
    const differs = Object.entries(wantedOf(context)).filter(([key, value]) => now[key] !== value);
    return { isDone: differs.length === 0, words };
  },
  async ask(context) {
    const { site } = context.answers;
    if (context.hasFile()) {
      const now = context.site().settings.site;
      if (site.external_id !== undefined && site.external_id !== now.external_id)
        return open(`the external id of the site is ${now.external_id} and never changes; the answers say another`);
      const members = wantedOf(context);
      if (context.dryRun) context.pretend(applyChanges(context.site().text, [{ do: 'set', section: 'site', members }]));
      return {
        would: `change ${Object.keys(members).join(', ')} of the site`,
        values: Object.entries(members).map(([key, value]) => `${key}: ${value}`),
        async run() {
          await context.change([{ do: 'set', section: 'site', members }]);
          return `site ${now.external_id} is changed`;
        },
      };
    }
    const text = await newFile(context);
    if (text === undefined) return open('the answers lack site.external_id or site.timezone');
    // What cannot be written is said before anybody agrees to it, in a dry run, too.
    const { settings } = siteFileOf(context.config, text);
    if (context.dryRun) context.pretend(text);
    return {
      would: `write ${context.config}`,
      values: valuesOf(settings),
      async run() {
        const isInstalled = isOfFirstDay(context.config);
        await begin(context.config, text);
        return `${context.config} is begun${isInstalled ? await startAgain({ file: context.config, text }, context.socket) : ''}`;
      },
    };
  },
};

/** The site as the new file has it. */
const valuesOf = ({ site, bridge, partitions }: Settings): readonly string[] => [
  `site ${site.external_id}${site.name === undefined ? '' : `, ${site.name}`}`,
  `time zone ${site.timezone}`,
  `box ${bridge.external_id} (${bridge.role})`,
  ...partitions.map(({ id, name }) => `partition ${id}, ${name}`),
];

/** What the answers want otherwise than any new file has it. */
function wantedOf({ answers: { site } }: Context): Readonly<Record<string, unknown>> {
  const { name, timezone, language, account_reference_id, security_type } = site;
  const members = { name, timezone, language, account_reference_id, security_type };
  return given(members);
}

/** Undefined where something is missing and nobody can be asked. */
async function newFile({ answers, talk, config }: Context): Promise<string | undefined> {
  const { site, bridge, partitions, settings = {} } = answers;
  const externalId =
    site.external_id ??
    (await talk.ask({
      text: '  your own id of the site; it never changes',
      help: 'it becomes part of the MQTT topics; letters, digits, . _ : and -, at most 64',
      initial: hostname()
        .toLowerCase()
        .replaceAll(/[^a-z0-9._:-]/g, '-')
        .slice(0, 64),
      check: (text) => (isId(text) ? undefined : 'letters, digits, . _ : and -, at most 64'),
    }));
  const timezone =
    site.timezone ??
    (await talk.ask({
      text: '  time zone of the site, by its IANA name',
      initial: Intl.DateTimeFormat().resolvedOptions().timeZone,
      help: 'schedules and reports go by it; write it as Europe/Berlin',
      check: (text) => (isTimezone(text) ? undefined : 'no such time zone; write it as Europe/Berlin'),
    }));
  if (externalId === undefined || timezone === undefined) return undefined;
  const name =
    site.name ??
    (await talk.ask({
      text: '  name of the site for people',
      initial: externalId,
      help: 'any text; it may be changed later',
    }));
  const box =
    bridge.external_id ??
    (await talk.ask({
      text: '  id of this box',
      initial: boxId(),
      help: 'unique within the site; it stays when the box is replaced',
    })) ??
    boxId();
  const parts = partitions ?? [
    {
      id: 'p1',
      name: (await talk.ask({ text: '  name of its first partition', initial: name })) ?? name ?? externalId,
    },
  ];
  return [
    '# Written by "siteward setup"; docs/configuration.md describes every key. Secrets lie in files of their own.',
    stringify({
      site: {
        id: site.id ?? unknownSite,
        external_id: externalId,
        ...(name !== undefined && { name }),
        ...given(wantedNew(site, timezone)),
      },
      bridge: { ...bridge, external_id: box },
      // The page that is open already stays.
      ...(isOfFirstDay(config) && firstDaySettings),
      ...settings,
      partitions: parts,
    }),
  ].join('\n');
}

const firstDaySettings = { http: { listen: '0.0.0.0:8443' } };

const wantedNew = (site: Context['answers']['site'], timezone: string) => ({
  dealer_id: site.dealer_id,
  timezone,
  language: site.language,
  account_reference_id: site.account_reference_id,
  security_type: site.security_type,
});

const isId = (text: string): boolean => /^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$/.test(text);

/** By the first network address of the box, which stays with it. */
function boxId(): string {
  const cards = Object.values(networkInterfaces()).flatMap((one = []) => one);
  const mac = cards.find(({ internal, mac: address }) => !internal && address !== '00:00:00:00:00:00')?.mac;
  return `sw-${
    mac?.replaceAll(':', '') ??
    hostname()
      .toLowerCase()
      .replaceAll(/[^a-z0-9-]/g, '-')
      .slice(0, 40)
  }`;
}

/** Throws `config_invalid` with all that is wrong with it. */
async function begin(file: string, text: string): Promise<void> {
  siteFileOf(file, text);
  const folder = dirname(resolve(file));
  const isRoot = process.getuid?.() === 0;
  // Root's own service would not be let in: the file goes to whom the folder belongs.
  const owner = isRoot ? await withFile(folder, () => stat(folder)) : undefined;
  await withFile(file, () => writeDurably(file, text, { mode: 0o640, ...(owner !== undefined && { owner }) }));
}
