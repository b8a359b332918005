import { readFile } from 'node:fs/promises';
import { type Members, removeSecrets, unusedSecrets, views } from '#config/index.ts';
import { given } from '#lib/given.ts';
import { withFile } from '../named-file.ts';
import type { Answers } from './answers.ts';
import { isId, named } from './devices.ts';
import { type Context, type Step, skipped } from './types.ts';

/** As the configuration has it; `password` is typed, `password_file` names a file of the answers. Both are kept in a file of siteward's own. */
type Speaker = Answers['speakers'][number] & { readonly password_text?: string };

export const speakerStep: Step = {
  id: 'speakers',
  title: 'Speakers',
  needs: ['site', 'cameras', 'recorders'],
  later: 'the section speakers of the configuration, then siteward audio test (docs/audio.md)',
  async isDone({ site, answers }) {
    const known = site().settings.speakers.map(({ id }) => id);
    const isWhole = answers.speakers.every(({ id }) => known.includes(id));
    return { isDone: known.length > 0 && isWhole, words: `speakers: ${named(known)}` };
  },
  async ask(context) {
    const { answers, site } = context;
    const known = new Set(site().settings.speakers.map(({ id }) => id));
    const listed: readonly Speaker[] = answers.speakers.filter(({ id }) => !known.has(id));
    const speakers = listed.length > 0 ? listed : await askSpeakers(context);
    if (speakers.length === 0) return skipped('no speaker');
    return {
      would: `add ${named(speakers.map(({ id }) => id))} to the configuration`,
      values: speakers.map((one) => `${one.id}: driver ${String(one.driver)}`),
      async run() {
        for (const one of speakers) await addSpeaker(context, one);
        return `added: ${named(speakers.map(({ id }) => id))}; siteward audio test lets them be heard`;
      },
    };
  },
};

/** The secret first: the file never names one that is not there. */
async function addSpeaker(context: Context, speaker: Speaker): Promise<void> {
  const { password_file: file, password_text: typed, ...entry } = speaker;
  const text = file === undefined ? typed : (await withFile(file, () => readFile(file, 'utf8'))).replace(/\r?\n$/, '');
  const password = text === undefined ? undefined : await context.keepSecret(`speaker-${entry.id}`, text);
  const before = context.site().text;
  try {
    await context.change([{ do: 'add', section: 'speakers', entry: { ...entry, ...given({ password }) } }]);
  } catch (error) {
    // What is not written leaves none behind.
    const paths = password === undefined ? [] : [password.file];
    const unused = unusedSecrets(context.config, paths, { before, after: context.site().text });
    await removeSecrets(unused).catch(() => undefined);
    throw error;
  }
}

const kinds = ['card', 'sink', 'camera', 'horn', 'device'] as const;

async function askSpeakers(context: Context): Promise<readonly Speaker[]> {
  const { talk } = context;
  const speakers: Speaker[] = [];
  for (;;) {
    const more = speakers.length === 0 ? 'nothing for none, or for later' : 'nothing ends the list';
    const id = await talk.ask({ text: `  id of a speaker; ${more}`, check: isId });
    if (id === undefined || id === '') return speakers;
    talk.say(
      '    card: a sound card of this box; sink: of PulseAudio or PipeWire; camera: of a camera or intercom (ONVIF);',
    );
    talk.say('    horn: on the network, is sent sounds; device: on the network, is told to play a sound of its own');
    const kind = await talk.ask({
      text: '    what it is',
      initial: 'card',
      check: (text) => ((kinds as readonly string[]).includes(text) ? undefined : `one of ${kinds.join(', ')}`),
    });
    speakers.push({ id, ...(await askKind(context, kind as (typeof kinds)[number])) } as Speaker);
  }
}

async function askKind(context: Context, kind: (typeof kinds)[number]): Promise<Members> {
  const { talk } = context;
  const must = async (text: string, check = isGiven) => await talk.ask({ text, check, mustAnswer: true });
  switch (kind) {
    case 'card':
      return {
        driver: 'alsa',
        device: await talk.ask({ text: '    its device, as "aplay -L" names it', initial: 'default' }),
      };
    case 'sink':
      return { driver: 'pulse', sink: await must('    its sink, as "pactl list short sinks" names it') };
    case 'camera': {
      const cameras = views(context.site().settings).map(({ id }) => id);
      const text = `    camera whose speaker it is (${named(cameras)}), or address of its stream (rtsp://...)`;
      const of = await must(text, (one) =>
        cameras.includes(one) || /^rtsps?:/.test(one) ? undefined : `one of ${named(cameras)}, or rtsp://...`,
      );
      return of !== undefined && cameras.includes(of)
        ? { driver: 'onvif', camera: of }
        : { driver: 'onvif', url: of, ...(await askLogin(talk)) };
    }
    case 'horn':
      return {
        driver: 'http',
        push: { url: await must('    address that takes the sound (http://...)', isHttp) },
        ...(await askLogin(talk, 'digest')),
      };
    case 'device':
      return {
        driver: 'http',
        trigger: {
          url: await must('    address that makes it play; {message}, {volume} and {repeat} are replaced', isHttp),
        },
        // A disarm has to silence it (safety 9).
        stop: { url: await must('    address that silences it', isHttp) },
        ...(await askLogin(talk, 'digest')),
      };
  }
}

async function askLogin(talk: Context['talk'], auth?: string): Promise<Members> {
  const username = await talk.ask({ text: '    its user for siteward; nothing for none' });
  if (username === undefined || username === '') return {};
  const password_text = await talk.hidden('    its password');
  return { username, ...given({ password_text, auth }) };
}

const isGiven = (text: string): string | undefined => (text === '' ? 'it is needed' : undefined);
const isHttp = (text: string): string | undefined =>
  /^https?:\/\//.test(text) && URL.canParse(text) ? undefined : 'write it as http://192.0.2.30/play';
