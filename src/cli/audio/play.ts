import { randomUUID } from 'node:crypto';
import { isCode } from '#errors.ts';
import { type PlaybackShown, playbackShown, type SpeakerPlayback } from '#site/model/index.ts';
import { answered, type Control, openControl, patience } from '../control.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { counted, printable } from '../table.ts';
import { untilStopped } from '../until-stopped.ts';
import { follow, playbackOf } from './follow.ts';
import { keyOf, orHint } from './known.ts';
import { adviceOf, hasEnded, outcomeOf } from './words.ts';

export interface PlayOptions {
  readonly speakers?: readonly string[];
  readonly volume: number;
  readonly repeat: number;
  readonly wait: boolean;
  readonly json: boolean;
  readonly socket: string;
}

/** `siteward audio play MESSAGE`. Ends with 1 where not every speaker played it to the end. */
export async function play(message: string, options: PlayOptions): Promise<ExitCode> {
  const { speakers, volume, repeat, wait, json } = options;
  using stopped = untilStopped();
  await using control = openControl(options.socket);
  const key = await keyOf(control, message);
  const wish = { audio_message_id: key, volume, repeat, ...(speakers && { target_devices: [...speakers] }) };
  const tell = json ? undefined : (device: SpeakerPlayback) => console.log(linesOf(device));
  const played = await orHint(control, { message: key, ...(speakers && { speakers }) }, () =>
    playAndWait(control, wish, { signal: stopped.signal, wait, ...(tell && { tell }) }),
  );
  if (json) console.log(JSON.stringify(played));
  else console.log(conclusion(played));
  return played.status === 'failed' || played.status === 'cancelled' ? exitCodes.failure : exitCodes.ok;
}

export interface Wish {
  readonly audio_message_id: string;
  readonly target_devices?: string[];
  readonly volume: number;
  readonly repeat: number;
}

/** Plays, and waits for the end where that is wanted. An abort ends what began here, and waits for that end. */
export async function playAndWait(
  control: Control,
  wish: Wish,
  options: {
    readonly signal: AbortSignal;
    readonly wait: boolean;
    readonly tell?: (device: SpeakerPlayback) => void;
  },
): Promise<PlaybackShown> {
  const { signal, wait, tell } = options;
  signal.throwIfAborted();
  // An id of our own: it tells whether the answer is a playback that somebody else began.
  const id = randomUUID();
  const answer = answered(await control.client.playMessage({ body: { ...wish, playback_id: id }, signal: patience() }));
  const begun = playbackShown.parse(answer.json);
  const { playback_id } = begun;
  if (playback_id !== id)
    console.error(`siteward: the same alarm waits already, as ${playback_id}: this one is joined to it`);
  if (!wait) return begun;
  try {
    return await follow(control, begun, { signal, ...(tell && { tell }) });
  } catch (error) {
    // In no list is what the service plays, and what ended long ago.
    if (isCode(error, 'audio_unknown')) {
      console.error('siteward: nothing more is heard of it here: go and listen');
      return begun;
    }
    if (!signal.aborted) throw error;
  }
  if (playback_id !== id) {
    console.error(`siteward: it goes on; "siteward audio stop ${playback_id}" ends it`);
    return playbackOf(control, playback_id);
  }
  answered(await control.client.cancelPlaybacks({ body: { playback: id, alarms: true }, signal: patience() }));
  return follow(control, await playbackOf(control, id), { signal: patience(), ...(tell && { tell }) });
}

/** `found`: what siteward found when it asked the speaker. */
export function linesOf(device: SpeakerPlayback, found?: string): string {
  const line = printable([device.device_id.padEnd(10), device.status.padEnd(9), outcomeOf(device)].join('  '));
  const advice = adviceOf(device);
  const more = [...(found === undefined ? [] : [found]), ...(advice === undefined ? [] : [`→ ${advice}`])];
  return [line, ...more.map((text) => `  ${printable(text)}`)].join('\n');
}

function conclusion(playback: PlaybackShown): string {
  const { playback_id, name, status, summary, devices } = playback;
  const message = printable(name);
  if (!hasEnded(playback)) return `${message} is ${status} as ${playback_id}`;
  if (status === 'completed') return `${message} was played on ${counted(devices.length, 'speaker')}`;
  const bad = [`${summary.failed} failed`, `${summary.cancelled} cancelled`].filter((text) => !text.startsWith('0'));
  return `${message} was played on ${summary.completed} of ${counted(summary.total, 'speaker')}: ${bad.join(', ')}`;
}
