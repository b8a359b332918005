import { randomUUID } from 'node:crypto';
import type { Settings } from '#config/index.ts';
import { type Found, matchCatalogue, otherLanguages, type PlayRefusal, raised } from '#devices/audio/index.ts';
import { type ErrorCode, SitewardError } from '#errors.ts';
import type { Clock } from '#lib/clock.ts';
import { auditNotes } from '#site/audit-notes.ts';
import {
  type AudioMessageShown,
  type AudioPort,
  type CloudMessage,
  playWish,
  type SpeakerShown,
} from '#site/model/index.ts';
import { playThroughCloud, refOf } from './audio-cloud.ts';
import { audioNotes } from './audio-notes.ts';
import type { Note } from './audit-wiring.ts';
import { type House, running } from './house.ts';

/** The answer waits so long for the first sample. */
const answerMs = 1_000;

/** Messages on speakers, for the rooms of the LAN, whichever part serves at the moment. */
export function audioPort({
  house,
  settings,
  note,
  clock,
  catalogue = () => house.catalogue?.messages(),
}: {
  house: Pick<House, 'audio' | 'catalogue' | 'lan'>;
  settings: () => Settings;
  note: Note;
  clock: Clock;
  /** The messages of the service, once they are known. */
  catalogue?: () => readonly CloudMessage[] | undefined;
}): AudioPort {
  const audio = () => running(house, 'audio');
  const noteAsked = audioNotes(note, clock);
  const messages = () => matchCatalogue(catalogue(), audio().library.list());

  return {
    messages: () => messages().shown,

    speakers() {
      const conditions = new Map(house.audio?.speakers().map((one) => [one.id, one]));
      return settings().speakers.map(({ id, name = id, driver, enabled }): SpeakerShown => {
        const { up = null, detail } = conditions.get(id) ?? {};
        return { device_id: id, name, driver, enabled, up, ...(detail !== undefined && { detail }) };
      });
    },

    playbacks: () => (house.audio?.playbacks() ?? []).toReversed(),

    async play(wish, by, signal, how = {}) {
      const { playback_id = randomUUID(), audio_message_id: id, target_devices, volume, repeat, category } = read(wish);
      const found = inSomeLanguage(id);
      // Asked for again while, or after, the service played it: also where the message has been imported since.
      const earlier = await house.catalogue?.find(playback_id);
      if (earlier !== undefined) {
        if (![id, found?.message.audio_message_id].includes(earlier.audio_message_id)) throw refusal('id_conflict');
        return earlier;
      }
      if (found === undefined)
        throw new SitewardError('audio_unknown', `there is no message "${id}"`, {
          facts: { field: 'audio_message_id' },
        });
      if (found.where === 'cloud') {
        const targets = target_devices === undefined ? {} : { target_devices };
        const asked = { playback_id, message: found.message, volume, repeat, ...targets };
        return playThroughCloud({ house, settings, note: async (entry) => noteAsked(entry, false) }, asked, by, signal);
      }
      const { key, name, sha256, category: usual } = found.message;
      const answer = audio().play({
        ...{ id: playback_id, volume, repeat, requestedBy: refOf(by), ...how },
        message: { id, key, name, sha256 },
        category: raised(usual, category),
        ...(target_devices !== undefined && { speakers: target_devices }),
      });
      const { outcome } = answer;
      const where = target_devices?.join(' ') ?? 'all';
      noteAsked(
        auditNotes.audio('play', by, `message ${key}`, outcome === 'refused' ? answer.reason : undefined, where),
        outcome === 'accepted' && answer.playback.category === 'alarm',
      );
      if (answer.outcome === 'refused') throw refusal(answer.reason, settings().speakers, target_devices);
      const { playback_id: given } = answer.playback;
      return (await audio().begun(given, answerMs, signal)) ?? answer.playback;
    },

    async cancel(target, alarms, by) {
      const meant = audio().cancel(target, alarms);
      if (typeof target === 'object' && 'playback' in target && meant.length === 0) {
        const atService = await house.catalogue?.find(target.playback)?.catch(() => undefined);
        if (atService !== undefined)
          throw new SitewardError('audio_refused', 'the service plays it, and knows no way to stop it', {
            facts: { field: 'playback_id' },
          });
        throw new SitewardError('audio_unknown', `there is no playback ${target.playback}`, {
          facts: { field: 'playback_id' },
        });
      }
      const ended = audio()
        .playbacks()
        .filter(({ playback_id }) => meant.includes(playback_id));
      noteAsked(
        auditNotes.audio('cancel', by, targetText(target), undefined, `${meant.length} playbacks`),
        ended.some(({ category }) => category === 'alarm'),
      );
      return ended;
    },

    selfTest: (by, signal) => audio().selfTest(by, signal),

    async import({ sound, fileName, fields, replace = false }, by, signal) {
      const request = { source: sound, fields, replace, ...(fileName !== undefined && { fileName }) };
      const { key } = await audio().library.import(request, signal);
      audio().messagesChanged();
      house.lan?.messagesChanged();
      void note(auditNotes.audio('import', by, `message ${key}`));
      return shownOf(key);
    },

    async remove(key, by) {
      const gone = audio().library.find(key)?.sha256;
      await audio().library.remove(key);
      audio().messagesChanged(gone);
      house.lan?.messagesChanged();
      void note(auditNotes.audio('remove', by, `message ${key}`));
    },
  };

  /** As it was asked for; what is not there in that language, in the one of the site, or in English. */
  function inSomeLanguage(id: string): Found | undefined {
    const { find } = messages();
    return (
      find(id) ??
      otherLanguages(id, settings().site.language)
        .map(find)
        .find((one) => one !== undefined)
    );
  }

  function shownOf(key: string): AudioMessageShown {
    const shown = messages().shown.find((one) => one.key === key);
    if (shown === undefined) throw new SitewardError('audio_unknown', `there is no message "${key}"`);
    return shown;
  }
}

function read(wish: unknown) {
  const result = playWish.safeParse(wish);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys[0] : undefined;
  const field = unknown ?? (issue?.path.join('.') || 'body');
  const what = unknown === undefined ? issue?.message : 'is not known here';
  throw new SitewardError('audio_invalid', `${field}: ${what}`, { facts: { field } });
}

const refusals: Readonly<Record<PlayRefusal, readonly [code: ErrorCode, message: string, field?: string]>> = {
  no_speaker: ['audio_refused', 'the site has no speaker that is enabled', 'target_devices'],
  unknown_speaker: ['audio_unknown', 'there is no such speaker', 'target_devices'],
  id_conflict: ['audio_refused', 'another playback has this id', 'playback_id'],
  queue_full: ['queue_full', 'too many messages wait for these speakers'],
  too_long: ['audio_refused', 'this alarm has sounded for its longest time'],
  shutdown: ['stopped', 'siteward is stopping'],
};

function refusal(reason: PlayRefusal, speakers: Settings['speakers'] = [], asked?: readonly string[]): SitewardError {
  const [code, text, field] = refusals[reason];
  const message = (reason === 'unknown_speaker' && unusable(speakers, asked)) || text;
  return new SitewardError(code, message, { facts: { reason, ...(field !== undefined && { field }) } });
}

function unusable(speakers: Settings['speakers'], asked: readonly string[] = []): string | undefined {
  for (const id of asked) {
    const speaker = speakers.find((one) => one.id === id);
    if (speaker === undefined) return `there is no speaker ${id}`;
    if (!speaker.enabled) return `speaker ${id} is not used: its configuration says enabled: false`;
  }
  return undefined;
}

function targetText(target: Parameters<AudioPort['cancel']>[0]): string {
  if (target === 'all') return 'all playbacks';
  if ('playback' in target) return `playback ${target.playback}`;
  return 'speaker' in target ? `speaker ${target.speaker}` : `category ${target.category}`;
}
