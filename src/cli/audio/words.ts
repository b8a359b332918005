import type { Delivery, PlaybackReason, SpeakerPlayback } from '#site/model/index.ts';

/** The reasons of docs/audio.md, word for word: what each means, and what to do. */
export const reasonWords: Readonly<Record<PlaybackReason, readonly [means: string, advice?: string]>> = {
  not_found: [
    'the speaker, its sound card or address is gone, or it is no longer in the configuration',
    'look at cable, address, device name',
  ],
  busy: [
    'something else had the device all the time',
    'end what holds it; another program, or somebody who talks over it',
  ],
  auth: ['it refuses user or password, or none is tried now', 'correct both, and reload'],
  unsupported: ['it has no audio output that siteward can use', 'use another driver or device'],
  format: ['it takes none of the formats siteward makes', 'use another driver or device'],
  refused: ['it refuses for another reason', 'read its own log'],
  timeout: [
    'it did not begin, or did not end; one with a `stop` may sound on',
    'restart the device; look at the network; look whether it is silent',
  ],
  connection_lost: ['the connection broke while it played', 'look at the network and the power supply'],
  device_error: ['it failed, or was done sooner than the message lasts', 'read its own log; play the test tone'],
  queue_full: ['16 were waiting', 'play fewer or shorter messages'],
  evicted: ['one of a higher category took its place', 'play fewer or shorter messages'],
  expired: ['its time to wait was over, or the clock was set while it waited'],
  unhealthy: [
    'the speaker failed three times in a row; only alarms and tests are still tried, until one is completed or a probe finds it well',
    'mend the speaker, then play the test tone',
  ],
  quiet_hours: ['the speaker plays alarms alone now', 'ask later, or change its quiet hours'],
  message_gone: ['the message was removed from the library, or its sound is gone or damaged', 'import it again'],
  interrupted: ['siteward ended without notice while it played, or the speaker was moved to another queue'],
  shutdown: ['siteward was stopped and did not wait for its end'],
  user: ['somebody cancelled it'],
  preempted: ['one above it cut it'],
  disarmed: ['the partition was disarmed, or its alarm silenced'],
  too_long: ['the alarm had sounded for its longest time'],
};

/** What `completed` rests on. */
const deliveryWords: Readonly<Record<Delivery, string>> = {
  heard: 'heard: its own clock took the samples',
  sent: 'sent in real time; go and listen whether it is heard',
  accepted: 'it took the order to play; go and listen whether it is heard',
};

/** One line of what became of it on a speaker. */
export function outcomeOf({ status, reason, played_ms: played, delivered }: SpeakerPlayback): string {
  const why = reason === undefined ? [] : [`${reason}: ${reasonWords[reason][0]}`];
  const heard = played === undefined || status === 'playing' ? [] : [`${(played / 1000).toFixed(1)} s`];
  const sure = status === 'completed' && delivered !== undefined ? [deliveryWords[delivered]] : [];
  return [...heard, ...sure, ...why].join('; ');
}

/** What to do, where something can be done. */
export const adviceOf = ({ status, reason }: SpeakerPlayback): string | undefined =>
  status === 'failed' && reason !== undefined ? reasonWords[reason][1] : undefined;

export const hasEnded = ({ status }: { readonly status: SpeakerPlayback['status'] }): boolean =>
  status !== 'queued' && status !== 'playing';
