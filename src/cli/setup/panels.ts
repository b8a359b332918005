import { profileFolders } from '#box/folders.ts';
import { runningDaemon } from '#box/lock.ts';
import { applyChanges, type Members, type Settings } from '#config/index.ts';
import { catalogue, createTraffic } from '#devices/panels/index.ts';
import { docPage } from '../doc-page.ts';
import { brokerAccess } from '../panel/broker.ts';
import { learned, overhear } from '../panel/learn.ts';
import { linesFor } from '../panel/site.ts';
import { isId, named } from './devices.ts';
import { type Context, type Step, skipped } from './types.ts';

type Entry = Members & { readonly id: string };
/** What a panel needs in the configuration. */
interface Lines {
  readonly partitions: readonly Entry[];
  readonly panels: readonly Entry[];
}
const nothing: Lines = { partitions: [], panels: [] };

export const panelStep: Step = {
  id: 'panels',
  title: 'Alarm panel',
  needs: ['site'],
  later: 'siteward panel learn finds a panel on the broker, siteward panel list names the profiles (docs/panels.md)',
  async isDone({ site, answers }) {
    const known = site().settings.panels.map(({ id }) => id);
    const isWhole = answers.panels.every(({ id }) => known.includes(id));
    return { isDone: known.length > 0 && isWhole, words: `panels: ${named(known)}` };
  },
  async ask(context) {
    const { answers, site } = context;
    const known = new Set(site().settings.panels.map(({ id }) => id));
    const listed = answers.panels.filter(({ id }) => !known.has(id));
    const { partitions, panels } = listed.length > 0 ? { partitions: [], panels: listed } : await askPanel(context);
    if (panels.length === 0) return skipped('no panel');
    const ids = named(panels.map(({ id }) => id));
    const changes = [
      ...partitions.map((entry) => ({ do: 'add', section: 'partitions', entry }) as const),
      ...panels.map((entry) => ({ do: 'add', section: 'panels', entry }) as const),
    ];
    if (context.dryRun) context.pretend(applyChanges(site().text, changes));
    return {
      would: `add ${ids} to the configuration`,
      values: panels.map((one) => `${one.id}: profile ${String(one.profile)}`),
      async run() {
        await context.change(changes);
        return `added: ${ids}`;
      },
    };
  },
};

async function askPanel(context: Context): Promise<Lines> {
  const { talk, config } = context;
  if (!talk.isThere) return nothing;
  const profiles = catalogue(profileFolders(config)).map(({ id }) => id);
  talk.say('  profiles:');
  for (const line of inLines(profiles)) talk.say(`    ${line}`);
  const { mqtt, store } = context.site().settings;
  // Its own broker is there with the daemon alone.
  const canListen = mqtt.broker !== 'embedded' || runningDaemon(store.dir) !== undefined;
  if (!canListen)
    talk.say(
      '  siteward can listen which one fits once it runs, with its broker: leave this for later, go on to the step of the daemon, and run this again',
    );
  const learns = canListen ? ' learn listens on the broker which one fits;' : '';
  const profile = await talk.ask({
    text: `  profile of the panel;${learns} nothing for none, or for later`,
    check: (text) =>
      (canListen && text === 'learn') || profiles.includes(text)
        ? undefined
        : `${canListen ? 'learn, or ' : ''}one of the profiles above`,
  });
  if (profile === undefined || profile === '') return nothing;
  return profile === 'learn' ? await learnPanel(context) : await typedPanel(context, profile);
}

const lineWidth = 76;

/** Words with commas, in lines that a terminal shows whole. */
function inLines(words: readonly string[]): readonly string[] {
  const lines: string[] = [];
  for (const [at, word] of words.entries()) {
    const next = at === words.length - 1 ? word : `${word},`;
    const line = lines.at(-1);
    if (line === undefined || line.length + 1 + next.length > lineWidth) lines.push(next);
    else lines[lines.length - 1] = `${line} ${next}`;
  }
  return lines;
}

/** As `siteward panel learn`. */
async function learnPanel({ talk, config }: Context): Promise<Lines> {
  const text = await talk.ask({
    text: '  for how many seconds; open a door meanwhile',
    initial: '30',
    check: (typed) => (/^[1-9]\d{0,3}$/.test(typed) ? undefined : 'a number such as 30'),
  });
  const { connect, settings } = brokerAccess({ config });
  const [entries, traffic] = [catalogue(profileFolders(config)), createTraffic()];
  const signal = AbortSignal.timeout(Number(text) * 1000);
  await overhear({ connect, entries, traffic, signal, listening: () => talk.say(`  listening on ${connect.url}`) });
  const { bridges, suggested } = learned({ entries, traffic, settings });
  if (bridges.length === 0)
    talk.say(`  no profile understands what was heard (${traffic.messages} messages); see ${docPage('panels.md')}`);
  for (const line of linesFor(suggested, settings)) talk.say(line);
  return { partitions: suggested.partitions, panels: suggested.panels.map((panel) => ({ ...panel })) };
}

async function typedPanel({ talk, site }: Context, profile: string): Promise<Lines> {
  const id = (await talk.ask({ text: '  short id of the panel', initial: 'main', check: isId })) ?? 'main';
  const vars =
    (await talk.ask({
      text: '  variables of the profile, as b=paradox; nothing for none',
      help: 'parts of the topics of its bridge that a site may set, such as the base topic',
    })) ?? '';
  const pairs = vars.split(/[\s,]+/).filter((pair) => pair.includes('='));
  const [part]: Settings['partitions'] = site().settings.partitions;
  const word = await talk.ask({
    text: `  the panel's own word for partition ${part?.id}; nothing where siteward decides`,
    help: 'what its bridge calls the partition, such as Area_1; then the panel decides its arming',
  });
  const entry = {
    id,
    profile,
    ...(pairs.length > 0 && {
      vars: Object.fromEntries(
        pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
      ),
    }),
    ...(word && part !== undefined && { partitions: { [part.id]: word } }),
  };
  return { partitions: [], panels: [entry] };
}
