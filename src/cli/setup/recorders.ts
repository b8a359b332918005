import type { Members } from '#config/index.ts';
import { given } from '#lib/given.ts';
import { addDevice } from '../camera/add.ts';
import { refused } from '../camera/change.ts';
import type { Answers } from './answers.ts';
import { askPictures, deviceText, isId, isZone, letIn, named } from './devices.ts';
import { type Context, type Step, skipped } from './types.ts';

type RecorderAnswer = Answers['recorders'][number];

/** Recorders with the channels that are watched; each is a camera. */
export const recorderStep: Step = {
  id: 'recorders',
  title: 'Recorders (NVR)',
  needs: ['site'],
  later: 'siteward camera add ADDRESS --id ID --nvr, then the channels of nvrs in the configuration (docs/cameras.md)',
  async isDone({ site, answers }) {
    const known = site().settings.nvrs.map(({ id }) => id);
    const isWhole = answers.recorders.every(({ id }) => known.includes(id));
    return { isDone: known.length > 0 && isWhole, words: `recorders: ${named(known)}` };
  },
  async ask(context) {
    const { answers, site } = context;
    const known = new Set(site().settings.nvrs.map(({ id }) => id));
    const listed = answers.recorders.filter(({ id }) => !known.has(id));
    const wanted = listed.length > 0 ? listed : await askRecorder(context);
    if (wanted.length === 0) return skipped('no recorder');
    const asks = context.talk.isThere && wanted.some(({ channels }) => channels === undefined);
    return {
      would: `look at ${named(wanted.map(({ id, address }) => `${id} (${address})`))}${asks ? ', ask about each channel' : ''} and add what lets siteward in`,
      values: wanted.map(deviceText),
      async run() {
        for (const one of wanted) await addRecorder(context, one);
        return `added: ${named(wanted.map(({ id }) => id))}`;
      },
    };
  },
};

/** Whole, with its channels, so that what is ended in between has those before. */
async function addRecorder(context: Context, recorder: RecorderAnswer): Promise<void> {
  const { id, address, name, user, password_file: passwordFile, channels } = recorder;
  const { config, socket } = context;
  await letIn(context, passwordFile, () =>
    addDevice(address, {
      ...{ id, nvr: true, config, socket, dryRun: false, passwordStdin: false },
      ...given({ name, user, passwordFile }),
      channels: async (all) => (channels === undefined ? await askChannels(context, all) : chosen(id, all, channels)),
    }),
  );
  // Nothing is left to write: the daemon takes what was.
  await context.change([]);
}

/** Those that the answers name, by their places. */
const chosen = (id: string, all: readonly Members[], channels: NonNullable<RecorderAnswer['channels']>) =>
  channels.map(({ position, ...about }): Members => {
    const channel = all[position - 1];
    if (channel === undefined) throw refused(`${id} has ${all.length} channels; there is none at position ${position}`);
    return { ...channel, ...given(about) };
  });

async function askRecorder({ talk }: Context): Promise<readonly RecorderAnswer[]> {
  const address = await talk.ask({ text: '  address of a recorder; nothing for none, or for later' });
  if (address === undefined || address === '') return [];
  const id = (await talk.ask({ text: '    its id', initial: 'nvr', check: isId })) ?? 'nvr';
  const name = await talk.ask({ text: '    what people call it', initial: id });
  const user = await talk.ask({ text: '    its user for siteward; the password is asked for', initial: 'siteward' });
  return [{ address, id, ...(name && { name }), ...(user && { user }) }];
}

/** All of them where nobody is there. */
async function askChannels({ talk, site }: Context, all: readonly Members[]): Promise<readonly Members[]> {
  if (!talk.isThere) return all;
  const partitions = site().settings.partitions.map(({ id }) => id);
  const watched: Members[] = [];
  for (const [at, channel] of all.entries()) {
    const about = typeof channel.source === 'string' ? ` (${channel.source})` : '';
    const text = `    name of channel ${at + 1}${about}; - leaves it out`;
    const name = await talk.ask({ text, initial: String(channel.id) });
    if (name === '-') continue;
    const zone = await talk.ask({ text: '      zone number that it opens; nothing for pictures only', check: isZone });
    const pictures = await askPictures(talk, '      ');
    watched.push({
      ...channel,
      ...given({ name, pictures }),
      ...(zone && { zone, ...(partitions.length === 1 && { partition: partitions[0] }) }),
    });
  }
  if (watched.length === 0) throw refused('every channel was left out: nothing of this recorder would be watched');
  return watched;
}
