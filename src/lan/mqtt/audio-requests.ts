import { SitewardError } from '#errors.ts';
import { never } from '#lib/wait.ts';
import {
  type CodeCheck,
  hasEnded,
  type PlaybackShown,
  type ReplyCode,
  roles,
  unknownClient,
} from '#site/model/index.ts';

import type { ParsedCommand } from './parse.ts';
import { everyPlayback, type Final } from './schemas.ts';
import type { SitePort } from './site-port.ts';
import { hasSpeakers, limits } from './state.ts';

type Body<V extends 'play' | 'cancel'> = Extract<ParsedCommand, { verb: V }>['body'];
type Site = Pick<SitePort, 'audio' | 'view'>;

/** Room for the reply's other members within its cap. */
const dataBytes = limits.reply_bytes - 700;

/**
 * Plays a message. The id of the command becomes that of the playback, so that the same command plays nothing anew after a restart
 * either. Throws what is nobody's mistake.
 */
export async function play(site: Site, client: string, body: Body<'play'>): Promise<Final> {
  const { id, audio_message_id, volume, repeat, target_devices, priority } = body;
  const wish = {
    ...{ playback_id: id, audio_message_id },
    ...(volume !== undefined && { volume }),
    ...(repeat !== undefined && { repeat }),
    ...(target_devices !== undefined && { target_devices }),
    ...(priority === 'alarm' && { category: 'alarm' as const }),
  };
  try {
    return begun(await site.audio.play(wish, `client:${client}`, never()));
  } catch (error) {
    return refusal(error, hasSpeakers(site.view().plan));
  }
}

/** As it is with the first sample, or a second after it was asked for. */
function begun(playback: PlaybackShown): Final {
  const data = shown(playback);
  if (playback.status === 'failed') return { outcome: 'failed', error: { code: 'AUDIO_UNAVAILABLE' }, data };
  if (playback.status === 'cancelled') return { outcome: 'superseded', error: { code: 'NEWER_LOCAL_CHANGE' }, data };
  return { outcome: 'done', data };
}

/**
 * Ends one playback, or all. What siteward or somebody else plays as an alarm ends only for whoever gives a code that may disarm: a name
 * alone must not end the sound of a fire. Where the broker does not tell who asks, nobody is known to be the one that asked for it.
 */
export async function cancel(site: Site, client: string, body: Body<'cancel'>, check: CodeCheck): Promise<Final> {
  const { playback_id: id } = body;
  const by = `client:${client}`;
  const may = mayEndAlarms(check);
  const isOwn = ({ requested_by }: PlaybackShown) => client !== unknownClient && requested_by === by;
  const mayEnd = (one: PlaybackShown) => may || one.category !== 'alarm' || isOwn(one);
  const all = site.audio.playbacks();
  const open = all.filter((one) => !hasEnded(one));
  try {
    if (id === everyPlayback) {
      if (!hasSpeakers(site.view().plan)) return refused('AUDIO_UNAVAILABLE');
      const meant = open.filter(mayEnd);
      await Promise.all(meant.map(({ playback_id: playback }) => site.audio.cancel({ playback }, may, by)));
      const data = { cancelled: meant.length, spared: open.length - meant.length };
      return { outcome: meant.length > 0 ? 'done' : 'already', data };
    }
    const meant = open.find(({ playback_id }) => playback_id === id);
    if (meant !== undefined && !mayEnd(meant))
      return refused(check.code === 'none' ? 'CODE_REQUIRED' : 'NOT_ALLOWED', 'code');
    // Nothing is done, and nothing of it stands in the audit log.
    const ended = all.find((one) => one.playback_id === id && hasEnded(one));
    if (ended !== undefined) return { outcome: 'already', data: shown(ended) };
    const [playback] = await site.audio.cancel({ playback: id }, may, by);
    return { outcome: 'done', ...(playback !== undefined && { data: shown(playback) }) };
  } catch (error) {
    return refusal(error, hasSpeakers(site.view().plan));
  }
}

/** Whoever may disarm; duress is answered like any right code (safety 4). */
const mayEndAlarms = ({ code, role }: CodeCheck): boolean =>
  (code === 'ok' || code === 'duress') && (role === undefined || roles[role].may.includes('disarm'));

/** In full where it fits, otherwise with as many of its speakers as do. */
function shown(playback: PlaybackShown): NonNullable<Final['data']> {
  const { devices } = playback;
  for (let keep = devices.length; keep > 0; keep = Math.floor(keep / 2)) {
    const data = {
      playback: { ...playback, devices: devices.slice(0, keep) },
      ...(keep < devices.length && { truncated: true }),
    };
    if (Buffer.byteLength(JSON.stringify(data)) <= dataBytes) return data;
  }
  return { playback: { ...playback, devices: [] }, truncated: true };
}

const refused = (code: ReplyCode, field?: string): Final => ({
  outcome: 'refused',
  error: { code, ...(field !== undefined && { field }) },
});

function refusal(error: unknown, isThere: boolean): Final {
  if (!(error instanceof SitewardError)) throw error;
  const { code, facts } = error;
  const field = typeof facts.field === 'string' ? facts.field : undefined;
  if (code === 'queue_full') return { outcome: 'failed', error: { code: 'BUSY', retry_after_s: 1 } };
  // What the site has no speakers for is not worth a search for what is wrong with it.
  if (!isThere) return refused('AUDIO_UNAVAILABLE');
  if (code === 'audio_unknown' || facts.reason === 'unknown_speaker') return refused('UNKNOWN_TARGET', field);
  if (code === 'audio_invalid') return refused('SCHEMA', field);
  if (facts.reason === 'id_conflict') return refused('ID_CONFLICT');
  // The service plays it, and knows no way to stop it.
  if (code === 'audio_refused' && field === 'playback_id') return refused('NOT_ALLOWED', field);
  if (facts.reason === 'too_long') return refused('NOT_ALLOWED', 'audio_message_id');
  return refused('AUDIO_UNAVAILABLE', code === 'audio_refused' ? field : undefined);
}
